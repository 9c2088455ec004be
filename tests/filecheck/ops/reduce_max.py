# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""reduce_max starts from the lowest value; NaN propagates."""

import xtc.ops as O

x = O.tensor((2, 3), "float32", name="x")
n = O.tensor((2, 3), "int8", name="n")
with O.graph(name="reduce_max_graph") as gb:
    O.reduce_max(x, axes=0, name="floats")
    O.reduce_max(n, axes=0, name="integers")
graph = gb.graph

# CHECK-LABEL: func.func @reduce_max_graph
# CHECK: %[[START:.*]] = arith.constant 0xFF800000 : f32
# CHECK: linalg.fill {__xtc_id_floats.init_} ins(%[[START]]
# CHECK: linalg.generic
# CHECK-SAME: iterator_types = ["reduction", "parallel"]
# CHECK-SAME: outs({{.*}} : tensor<3xf32>)
# CHECK-SAME: __xtc_id_floats_, loop.dims = ["i", "j"]
# CHECK: arith.maximumf
# CHECK: %[[START:.*]] = arith.constant -128 : i8
# CHECK: linalg.fill {__xtc_id_integers.init_} ins(%[[START]]
# CHECK: arith.maxsi %{{.*}} : i8

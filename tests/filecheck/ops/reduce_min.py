# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""reduce_min starts from the highest value; NaN propagates."""

import xtc.ops as O

x = O.tensor((2, 3), "float32", name="x")
n = O.tensor((2, 3), "int8", name="n")
with O.graph(name="reduce_min_graph") as gb:
    O.reduce_min(x, axes=0, name="floats")
    O.reduce_min(n, axes=0, name="integers")
graph = gb.graph

# CHECK-LABEL: func.func @reduce_min_graph
# CHECK: %[[START:.*]] = arith.constant 0x7F800000 : f32
# CHECK: linalg.fill {__xtc_id_floats.init_} ins(%[[START]]
# CHECK: linalg.generic
# CHECK-SAME: iterator_types = ["reduction", "parallel"]
# CHECK-SAME: outs({{.*}} : tensor<3xf32>)
# CHECK-SAME: __xtc_id_floats_, loop.dims = ["i", "j"]
# CHECK: arith.minimumf
# CHECK: %[[START:.*]] = arith.constant 127 : i8
# CHECK: linalg.fill {__xtc_id_integers.init_} ins(%[[START]]
# CHECK: arith.minsi %{{.*}} : i8

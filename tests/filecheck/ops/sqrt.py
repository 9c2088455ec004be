# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""sqrt is the square root of every element."""

import xtc.ops as O

x = O.tensor((2, 3), "float32", name="x")
with O.graph(name="sqrt_graph") as gb:
    O.sqrt(x, name="y")
graph = gb.graph

# CHECK-LABEL: func.func @sqrt_graph
# CHECK: linalg.generic
# CHECK-SAME: iterator_types = ["parallel", "parallel"]
# CHECK-SAME: __xtc_id_y_, loop.dims = ["i", "j"]
# CHECK: %[[Y:.*]] = math.sqrt %{{.*}} : f32
# CHECK-NEXT: linalg.yield %[[Y]]

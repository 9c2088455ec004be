# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""sub takes a Python number on either side; it becomes a constant of the tensor's type."""

import xtc.ops as O

x = O.tensor((2, 3), "int32", name="x")
with O.graph(name="sub_graph") as gb:
    O.sub(5, x, name="y")
graph = gb.graph

# CHECK-DAG: #[[ALL:.*]] = affine_map<(d0, d1) -> (d0, d1)>
# CHECK-DAG: #[[NONE:.*]] = affine_map<(d0, d1) -> ()>
# CHECK-LABEL: func.func @sub_graph
# CHECK: %[[FIVE:.*]] = arith.constant dense<5> : tensor<i32>
# CHECK: linalg.generic {indexing_maps = [#[[NONE]], #[[ALL]], #[[ALL]]]
# CHECK-SAME: ins(%[[FIVE]], %{{.*}} : tensor<i32>, tensor<2x3xi32>)
# CHECK: ^bb0(%[[A:.*]]: i32, %[[B:.*]]: i32, %{{.*}}: i32):
# CHECK-NEXT: arith.subi %[[A]], %[[B]]

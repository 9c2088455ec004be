# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""sigmoid is 1 / (1 + exp(-x))."""

import xtc.ops as O

x = O.tensor((2, 3), "float32", name="x")
with O.graph(name="sigmoid_graph") as gb:
    O.sigmoid(x, name="y")
graph = gb.graph

# CHECK-LABEL: func.func @sigmoid_graph
# CHECK: linalg.generic
# CHECK-SAME: iterator_types = ["parallel", "parallel"]
# CHECK-SAME: __xtc_id_y_, loop.dims = ["i", "j"]
# CHECK: ^bb0(%[[X:.*]]: f32, %{{.*}}: f32):
# CHECK: %[[ONE:.*]] = arith.constant 1.0
# CHECK: %[[MINUS:.*]] = arith.negf %[[X]]
# CHECK: %[[POWER:.*]] = math.exp %[[MINUS]]
# CHECK: %[[SUM:.*]] = arith.addf %[[ONE]], %[[POWER]]
# CHECK: arith.divf %[[ONE]], %[[SUM]]

# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""leaky_relu keeps positive x and scales negative x."""

import xtc.ops as O

x = O.tensor((2, 3), "float32", name="x")
with O.graph(name="leaky_relu_graph") as gb:
    O.leaky_relu(x, slope=0.5, name="y")
graph = gb.graph

# CHECK-LABEL: func.func @leaky_relu_graph
# CHECK: linalg.generic
# CHECK-SAME: iterator_types = ["parallel", "parallel"]
# CHECK-SAME: __xtc_id_y_, loop.dims = ["i", "j"]
# CHECK: ^bb0(%[[X:.*]]: f32, %{{.*}}: f32):
# CHECK: %[[POSITIVE:.*]] = arith.cmpf ogt, %[[X]], %{{.*}} : f32
# CHECK: %[[SLOPE:.*]] = arith.constant 5.0
# CHECK: %[[SCALED:.*]] = arith.mulf %[[X]], %[[SLOPE]]
# CHECK: arith.select %[[POSITIVE]], %[[X]], %[[SCALED]]

# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""layer_norm forms mean and variance in two passes, in float32 for half floats."""

import xtc.ops as O

x = O.tensor((2, 3), "float16", name="x")
gamma = O.tensor((3,), "float16", name="gamma")
beta = O.tensor((3,), "float16", name="beta")
with O.graph(name="layer_norm_graph") as gb:
    O.layer_norm(x, gamma, beta, eps=0.5, name="y")
graph = gb.graph

# CHECK-LABEL: func.func @layer_norm_graph
# CHECK: __xtc_id_y.sum_
# CHECK: arith.addf %{{.*}} : f32
# CHECK: __xtc_id_y.mean_
# CHECK: %[[COUNT:.*]] = arith.constant 3.0
# CHECK: arith.divf %{{.*}}, %[[COUNT]] : f32
# CHECK: __xtc_id_y.squares_
# CHECK: %[[CENTERED:.*]] = arith.subf
# CHECK: %[[SQUARE:.*]] = arith.mulf %[[CENTERED]], %[[CENTERED]]
# CHECK: arith.addf %{{.*}}, %[[SQUARE]]
# CHECK: __xtc_id_y.scale_
# CHECK: %[[EPS:.*]] = arith.constant 5.0
# CHECK: arith.addf %{{.*}}, %[[EPS]]
# CHECK: math.sqrt
# CHECK: linalg.generic
# CHECK-SAME: ins({{.*}} : tensor<2x3xf16>, tensor<2xf32>, tensor<2xf32>, tensor<3xf16>, tensor<3xf16>)
# CHECK-SAME: __xtc_id_y_, loop.dims = ["i", "j"]
# CHECK: arith.truncf %{{.*}} : f32 to f16

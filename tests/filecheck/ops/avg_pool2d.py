# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""avg_pool2d sums, then divides by the number of elements that each window covers."""

import xtc.ops as O

x = O.tensor((1, 4, 5, 3), "float16", name="x")
with O.graph(name="avg_pool2d_graph") as gb:
    O.avg_pool2d(x, 2, name="y")
    O.avg_pool2d(x, 3, stride=2, padding=1, name="z")
    O.avg_pool2d(x, 3, stride=2, padding=1, count_include_pad=True, name="all")
graph = gb.graph

# Without padding, all windows cover the same number of elements.
# CHECK-LABEL: func.func @avg_pool2d_graph
# CHECK: linalg.pooling_nhwc_sum {__xtc_id_y_
# CHECK-SAME: loop.dims = ["n", "h", "w", "c", "r", "s"]
# CHECK-SAME: tensor<1x4x5x3xf16>, tensor<2x2xf16>) outs({{.*}} : tensor<1x2x2x3xf32>)
# CHECK: __xtc_id_y.mean_
# CHECK: %[[FOUR:.*]] = arith.constant 4.0{{.*}} : f32
# CHECK: %[[MEAN:.*]] = arith.divf %{{.*}}, %[[FOUR]] : f32
# CHECK: arith.truncf %[[MEAN]] : f32 to f16

# Rows and columns counted at each position.
# CHECK: linalg.pooling_nhwc_sum {__xtc_id_z_
# CHECK: arith.constant dense<[2.0{{.*}}, 3.0{{[^,]*}}]> : tensor<2xf32>
# CHECK: arith.constant dense<[2.0{{.*}}, 3.0{{.*}}, 2.0{{[^,]*}}]> : tensor<3xf32>
# CHECK: __xtc_id_z.mean_
# CHECK: %[[COUNT:.*]] = arith.mulf
# CHECK: arith.divf %{{.*}}, %[[COUNT]] : f32

# CHECK: linalg.pooling_nhwc_sum {__xtc_id_all_
# CHECK: arith.constant 9.0{{.*}} : f32

# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""conv2d writes zeros around the image, sums in the accumulator's type and rounds once."""

import xtc.ops as O

x = O.tensor((1, 7, 8, 3), "float16", name="x")
w = O.tensor((3, 3, 3, 5), "float16", name="w")
with O.graph(name="conv2d_graph") as gb:
    O.conv2d(x, w, stride=2, padding="same", name="y")
graph = gb.graph

# "same" gives ceil(7 / 2) x ceil(8 / 2) positions; the odd column is added at the right.
# CHECK-LABEL: func.func @conv2d_graph
# CHECK: linalg.fill {__xtc_id_y.pad_}
# CHECK: tensor.insert_slice {{.*}}[0, 1, 0, 0] [1, 7, 8, 3]
# CHECK-SAME: into tensor<1x9x9x3xf16>
# CHECK: linalg.fill {__xtc_id_y.init_} {{.*}} -> tensor<1x4x4x5xf32>
# CHECK: linalg.conv_2d_nhwc_hwcf
# CHECK-SAME: __xtc_id_y_, dilations = dense<1>
# CHECK-SAME: loop.dims = ["n", "h", "w", "f", "r", "s", "c"], strides = dense<2>
# CHECK-SAME: ins({{.*}} : tensor<1x9x9x3xf16>, tensor<3x3x3x5xf16>) outs({{.*}} : tensor<1x4x4x5xf32>)
# CHECK: arith.truncf {{.*}} : f32 to f16

# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""max_pool2d starts from the lowest value, which is also the padding."""

import xtc.ops as O

x = O.tensor((1, 5, 5, 3), name="x")
i = O.tensor((1, 5, 5, 3), "int8", name="i")
with O.graph(name="max_pool2d_graph") as gb:
    O.max_pool2d(x, 3, stride=2, padding=1, name="y")
    O.max_pool2d(i, (2, 1), name="z")
graph = gb.graph

# CHECK-LABEL: func.func @max_pool2d_graph
# CHECK: %[[LOW:.*]] = arith.constant 0xFF800000 : f32
# CHECK: %[[BORDER:.*]] = linalg.fill {__xtc_id_y.pad_} ins(%[[LOW]] : f32)
# CHECK: %[[IMAGE:.*]] = tensor.insert_slice {{.*}} into %[[BORDER]][0, 1, 1, 0]
# CHECK: linalg.fill {__xtc_id_y.init_}
# CHECK: linalg.pooling_nhwc_max {__xtc_id_y_
# CHECK-SAME: loop.dims = ["n", "h", "w", "c", "r", "s"], strides = dense<2>
# CHECK-SAME: ins(%[[IMAGE]], {{.*}} : tensor<1x7x7x3xf32>, tensor<3x3xf32>)

# The default stride is the window.
# CHECK: arith.constant -128 : i8
# CHECK: linalg.pooling_nhwc_max {__xtc_id_z_
# CHECK-SAME: strides = dense<[2, 1]>
# CHECK-SAME: tensor<2x1xi8>) outs({{.*}} : tensor<1x2x5x3xi8>)

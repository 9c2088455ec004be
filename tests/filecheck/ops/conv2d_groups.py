# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""conv2d with groups: one filter per channel, several per channel, and the general case."""

import xtc.ops as O

x = O.tensor((1, 6, 6, 4), name="x")
small = O.tensor((3, 3, 1, 4), name="one")
several = O.tensor((3, 3, 1, 8), name="several")
parts = O.tensor((3, 3, 2, 6), name="parts")
with O.graph(name="groups_graph") as gb:
    O.conv2d(x, small, groups=4, name="depthwise")
    O.conv2d(x, several, groups=4, name="multiplied")
    O.conv2d(x, parts, groups=2, dilation=2, name="grouped")
graph = gb.graph

# The filters of group g are the last f.
# CHECK-DAG: #[[X:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d1 + d5 * 2, d2 + d6 * 2, d3, d7)>
# CHECK-DAG: #[[W:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d5, d6, d7, d3, d4)>

# CHECK-LABEL: func.func @groups_graph
# CHECK: tensor.collapse_shape {{.*}} tensor<3x3x1x4xf32> into tensor<3x3x4xf32>
# CHECK: linalg.depthwise_conv_2d_nhwc_hwc {__xtc_id_depthwise_
# CHECK-SAME: loop.dims = ["n", "h", "w", "c", "r", "s"]

# CHECK: linalg.depthwise_conv_2d_nhwc_hwcm {__xtc_id_multiplied_
# CHECK-SAME: loop.dims = ["n", "h", "w", "c", "m", "r", "s"]
# CHECK-SAME: tensor<3x3x4x2xf32>) outs({{.*}} : tensor<1x4x4x4x2xf32>)
# CHECK: tensor.collapse_shape {{.*}} into tensor<1x4x4x8xf32>

# CHECK: tensor.expand_shape {{.*}} into tensor<1x6x6x2x2xf32>
# CHECK: tensor.expand_shape {{.*}} into tensor<3x3x2x2x3xf32>
# CHECK: linalg.generic {indexing_maps = [#[[X]], #[[W]], #map{{[0-9]*}}]
# CHECK-SAME: loop.dims = ["n", "h", "w", "g", "f", "r", "s", "c"]

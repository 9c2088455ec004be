# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --target null --stage source | FileCheck %s
"""slice follows Python: x[-5::2, :3]. The operation names its device."""

import xtc.ops as O

x = O.tensor((8, 4), name="x")
with O.graph(name="slice_graph") as gb:
    O.slice(x, (-5, None), (None, 3), (2, None), name="y", device="null0")
graph = gb.graph

# CHECK-LABEL: func.func @slice_graph
# CHECK: tensor.extract_slice %{{.*}}[3, 0] [3, 3] [2, 1] {xtc.device = "null0"}
# CHECK-SAME: tensor<8x4xf32> to tensor<3x3xf32>

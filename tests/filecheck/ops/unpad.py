# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""unpad removes elements at the ends of each dimension."""

import xtc.ops as O

x = O.tensor((3, 7), name="x")
with O.graph(name="unpad_graph") as gb:
    O.unpad(x, ((1, 0), 2), name="y")
graph = gb.graph

# CHECK-LABEL: func.func @unpad_graph
# CHECK: tensor.extract_slice %{{.*}}[1, 2] [2, 3] [1, 1] : tensor<3x7xf32> to tensor<2x3xf32>

# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""reshape moves no element, and keeps unchanged dimensions."""

import xtc.ops as O

x = O.tensor((5, 2, 3, 4), name="x")
with O.graph(name="reshape_graph") as gb:
    O.reshape(x, (5, -1), name="flat")
    O.reshape(x, (5, 3, 2, 2, 2), name="other")
graph = gb.graph

# CHECK-LABEL: func.func @reshape_graph
# CHECK: %[[FLAT:.*]] = tensor.collapse_shape %{{.*}} {{\[\[}}0], [1, 2, 3]] {{.*}} into tensor<5x24xf32>
# CHECK: tensor.collapse_shape %{{.*}} {{\[\[}}0], [1, 2], [3]] {{.*}} into tensor<5x6x4xf32>
# CHECK: tensor.expand_shape %{{.*}} {{\[\[}}0], [1, 2], [3, 4]] {{.*}} into tensor<5x3x2x2x2xf32>

# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""concat writes its operands side by side into one tensor."""

import xtc.ops as O

a = O.tensor((2, 3), name="a")
b = O.tensor((2, 4), name="b")
with O.graph(name="concat_graph") as gb:
    O.concat(a, b, a, axis=-1, name="y")
graph = gb.graph

# CHECK-LABEL: func.func @concat_graph
# CHECK: %[[EMPTY:.*]] = tensor.empty() {xtc.own_buffer = "{{.*}}"} : tensor<2x10xf32>
# CHECK: %[[ONE:.*]] = tensor.insert_slice %{{.*}} into %[[EMPTY]][0, 0] [2, 3]
# CHECK: %[[TWO:.*]] = tensor.insert_slice %{{.*}} into %[[ONE]][0, 3] [2, 4]
# CHECK: tensor.insert_slice %{{.*}} into %[[TWO]][0, 7] [2, 3]

# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""pad writes the operand into a larger tensor that holds one value."""

import xtc.ops as O

x = O.tensor((2, 3), name="x")
with O.graph(name="pad_graph") as gb:
    O.pad(x, ((1, 0), 2), value=0.5, name="y")
graph = gb.graph

# CHECK-LABEL: func.func @pad_graph
# CHECK: %[[X:.*]] = bufferization.to_tensor %arg0
# CHECK: %[[VALUE:.*]] = arith.constant 5.0{{.*}}e-01 : f32
# CHECK: %[[BORDER:.*]] = linalg.fill {__xtc_id_y.pad_} ins(%[[VALUE]] : f32) {{.*}} -> tensor<3x7xf32>
# CHECK: tensor.insert_slice %[[X]] into %[[BORDER]][1, 2] [2, 3] [1, 1]

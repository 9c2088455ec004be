# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""dilate writes x into zeros at regular distances."""

import xtc.ops as O

x = O.tensor((4, 6), name="x")
with O.graph(name="dilate_graph") as gb:
    O.dilate(x, (1, 2), name="y")
graph = gb.graph

# CHECK-LABEL: func.func @dilate_graph
# CHECK: linalg.fill {__xtc_id_y.zeros_}
# CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[0, 0] [4, 6] [1, 2]

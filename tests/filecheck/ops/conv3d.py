# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""conv3d is a sum over three taps and the channels."""

import xtc.ops as O

x = O.tensor((1, 5, 6, 7, 3), name="x")
w = O.tensor((2, 3, 3, 3, 4), name="w")
with O.graph(name="conv3d_graph") as gb:
    O.conv3d(x, w, stride=(1, 2, 1), name="y")
graph = gb.graph

# CHECK-DAG: affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8) -> (d0, d1 + d5, d2 * 2 + d6, d3 + d7, d8)>
# CHECK-LABEL: func.func @conv3d_graph
# CHECK: __xtc_id_y_, loop.dims = ["n", "d", "h", "w", "f", "q", "r", "s", "c"]

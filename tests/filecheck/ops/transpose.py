# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""transpose has a loop for each dimension of its result; without axes it reverses them."""

import xtc.ops as O

x = O.tensor((2, 3, 4), "int16", name="x")
with O.graph(name="transpose_graph") as gb:
    O.transpose(x, name="y")
    O.transpose(x, (0, -1, 1), name="z")
graph = gb.graph

# CHECK-LABEL: func.func @transpose_graph
# CHECK: linalg.transpose ins({{.*}} : tensor<2x3x4xi16>) outs({{.*}} : tensor<4x3x2xi16>)
# CHECK-SAME: permutation = [2, 1, 0]
# CHECK-SAME: __xtc_id_y_, loop.dims = ["i", "j", "k"]
# CHECK: linalg.transpose {{.*}} permutation = [0, 2, 1]

# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""gather_nd reads a row of indices, then the element there."""

import xtc.ops as O

x = O.tensor((4, 6), name="x")
r = O.tensor((5, 2), "int64", name="r")
with O.graph(name="gather_nd_graph") as gb:
    O.gather_nd(x, r, name="y")
graph = gb.graph

# CHECK-LABEL: func.func @gather_nd_graph
# CHECK: linalg.generic {{.*}}__xtc_id_y_, loop.dims = ["i"]
# CHECK: tensor.extract %{{.*}}[%{{.*}}, %{{.*}}] : tensor<5x2xi64>
# CHECK: tensor.extract %{{.*}}[%{{.*}}, %{{.*}}] : tensor<4x6xf32>

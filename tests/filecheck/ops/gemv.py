# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""gemv multiplies a matrix, or its transpose, by a vector; int8 products are summed in int32."""

import xtc.ops as O

a = O.tensor((3, 4), "int8", name="a")
x = O.tensor((4,), "int8", name="x")
y = O.tensor((3,), "int8", name="y")
with O.graph(name="gemv_graph") as gb:
    O.gemv(a, x, name="plain")
    O.gemv(a, y, transpose=True, name="transposed")
graph = gb.graph

# CHECK-LABEL: func.func @gemv_graph
# CHECK: linalg.matvec
# CHECK-SAME: loop.dims = ["i", "k"]
# CHECK-SAME: ins({{.*}} : tensor<3x4xi8>, tensor<4xi8>) outs({{.*}} : tensor<3xi32>)
# CHECK: linalg.vecmat
# CHECK-SAME: loop.dims = ["i", "k"]
# CHECK-SAME: ins({{.*}} : tensor<3xi8>, tensor<3x4xi8>) outs({{.*}} : tensor<4xi32>)

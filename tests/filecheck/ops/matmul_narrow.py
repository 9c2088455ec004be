# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""float16 is summed in float32 and rounded once; int8 is summed in int32, the result's type."""

import xtc.ops as O

a = O.tensor((2, 4), "float16", name="a")
b = O.tensor((4, 3), "float16", name="b")
c = O.tensor((2, 4), "int8", name="c")
d = O.tensor((4, 3), "int8", name="d")
with O.graph(name="matmul_narrow") as gb:
    O.matmul(a, b, name="halves")
    O.matmul(c, d, name="integers")
graph = gb.graph

# CHECK-LABEL: func.func @matmul_narrow
# CHECK: %[[SUM:.*]] = linalg.matmul {__xtc_id_halves_
# CHECK-SAME: ins({{.*}} : tensor<2x4xf16>, tensor<4x3xf16>) outs({{.*}} : tensor<2x3xf32>)
# CHECK: linalg.generic
# CHECK-SAME: ins(%[[SUM]] : tensor<2x3xf32>)
# CHECK-SAME: __xtc_id_halves.round_
# CHECK: arith.truncf %{{.*}} : f32 to f16
# CHECK: linalg.matmul {__xtc_id_integers_
# CHECK-SAME: ins({{.*}} : tensor<2x4xi8>, tensor<4x3xi8>) outs({{.*}} : tensor<2x3xi32>)

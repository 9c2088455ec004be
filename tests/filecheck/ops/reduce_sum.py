# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""reduce_sum sums half floats in float32 and int8 in int32; keepdims only reshapes."""

import xtc.ops as O

x = O.tensor((2, 3), "float16", name="x")
n = O.tensor((2, 3), "int8", name="n")
with O.graph(name="reduce_sum_graph") as gb:
    O.reduce_sum(x, axes=1, keepdims=True, name="halves")
    O.reduce_sum(n, name="integers")
graph = gb.graph

# CHECK-LABEL: func.func @reduce_sum_graph
# CHECK: %[[ZERO:.*]] = arith.constant 0.0{{.*}} : f32
# CHECK: linalg.fill {__xtc_id_halves.init_} ins(%[[ZERO]]
# CHECK: linalg.generic
# CHECK-SAME: iterator_types = ["parallel", "reduction"]
# CHECK-SAME: ins({{.*}} : tensor<2x3xf16>) outs({{.*}} : tensor<2xf32>)
# CHECK-SAME: __xtc_id_halves_, loop.dims = ["i", "j"]
# CHECK: %[[WIDE:.*]] = arith.extf
# CHECK: arith.addf %{{.*}}, %[[WIDE]] : f32
# CHECK: __xtc_id_halves.round_
# CHECK: arith.truncf
# CHECK: tensor.expand_shape {{.*}} tensor<2xf16> into tensor<2x1xf16>
# CHECK: linalg.generic
# CHECK-SAME: iterator_types = ["reduction", "reduction"]
# CHECK-SAME: outs({{.*}} : tensor<i32>)
# CHECK-SAME: __xtc_id_integers_
# CHECK: arith.extsi %{{.*}} : i8 to i32

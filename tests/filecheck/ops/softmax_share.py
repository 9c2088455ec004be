# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""softmax_share normalizes a sum, inverts it by iteration, and rounds a product."""

import xtc.ops as O

x = O.tensor((4, 10), "int8", name="x")
with O.graph(name="softmax_share_graph") as gb:
    O.quantized_softmax(x, 0.1, name="y")
graph = gb.graph

# CHECK: linalg.generic {{.*}}__xtc_id_y_
# CHECK-COUNT-5: arith.cmpi slt
# CHECK: arith.constant 1515870810 : i32
# CHECK: arith.minsi
# CHECK: arith.trunci {{.*}} : i32 to i8

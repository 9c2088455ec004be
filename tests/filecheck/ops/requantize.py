# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""requantize is a 64-bit multiplication, a rounding shift, and a saturation."""

import xtc.ops as O

x = O.tensor((4, 2), "int32", name="x")
with O.graph(name="requantize_graph") as gb:
    O.requantize(x, [0.5, 0.25], zero_point=3, name="y")
graph = gb.graph

# CHECK: linalg.generic {{.*}}__xtc_id_y_
# CHECK: %[[PRODUCT:.*]] = arith.muli {{.*}} : i64
# CHECK: %[[UP:.*]] = arith.addi %[[PRODUCT]], {{.*}} : i64
# CHECK: %[[HIGH:.*]] = arith.shrsi %[[UP]], {{.*}} : i64
# CHECK: arith.trunci %[[HIGH]] : i64 to i32
# CHECK: arith.shrui
# CHECK: arith.maxsi
# CHECK: arith.minsi
# CHECK: arith.trunci {{.*}} : i32 to i8

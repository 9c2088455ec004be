# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""dequantize subtracts the zero point and multiplies by the scale."""

import xtc.ops as O

x = O.tensor((4, 2), "int8", name="x")
with O.graph(name="dequantize_graph") as gb:
    O.dequantize(x, 0.5, zero_point=3, name="y")
graph = gb.graph

# CHECK: linalg.generic {{.*}}__xtc_id_y_
# CHECK: %[[WIDE:.*]] = arith.extsi {{.*}} : i8 to i32
# CHECK: %[[STEPS:.*]] = arith.subi %[[WIDE]]
# CHECK: %[[REAL:.*]] = arith.sitofp %[[STEPS]]
# CHECK: arith.mulf %[[REAL]]

# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""quantize rounds a quotient, adds the zero point and saturates."""

import xtc.ops as O

x = O.tensor((4, 2), name="x")
with O.graph(name="quantize_graph") as gb:
    O.quantize(x, 0.5, zero_point=3, name="y")
graph = gb.graph

# CHECK: linalg.generic {{.*}}__xtc_id_y_
# CHECK: %[[REAL:.*]] = arith.divf
# CHECK: %[[WHOLE:.*]] = math.roundeven %[[REAL]]
# CHECK: arith.addf %[[WHOLE]]
# CHECK: arith.fptosi {{.*}} : f32 to i8

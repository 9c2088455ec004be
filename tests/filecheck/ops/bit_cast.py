# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""bit_cast is one operation on every element."""

import xtc.ops as O

x = O.tensor((4, 6), name="x")
with O.graph(name="bit_cast_graph") as gb:
    O.bit_cast(x, "int32", name="y")
graph = gb.graph

# CHECK-LABEL: func.func @bit_cast_graph
# CHECK: arith.bitcast %{{.*}} : f32 to i32

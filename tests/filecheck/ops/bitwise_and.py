# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""bitwise_and broadcasts like arithmetic."""

import xtc.ops as O

a, b = O.tensor((2, 3), "int32", name="a"), O.tensor((3,), "int32", name="b")
with O.graph(name="bitwise_and_graph") as gb:
    O.bitwise_and(a, b, name="y")
graph = gb.graph

# CHECK-LABEL: func.func @bitwise_and_graph
# CHECK: linalg.generic
# CHECK-SAME: __xtc_id_y_, loop.dims = ["i", "j"]
# CHECK: arith.andi %{{.*}} : i32

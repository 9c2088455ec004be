# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""bitwise_not is an exclusive or with ones."""

import xtc.ops as O

x = O.tensor((2, 3), "int32", name="x")
with O.graph(name="bitwise_not_graph") as gb:
    O.bitwise_not(x, name="y")
graph = gb.graph

# CHECK-LABEL: func.func @bitwise_not_graph
# CHECK: linalg.generic
# CHECK-SAME: __xtc_id_y_, loop.dims = ["i", "j"]
# CHECK: arith.xori %{{.*}} : i32

# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""rsqrt is a root and a division, both correctly rounded."""

import xtc.ops as O

x = O.tensor((2, 3), "float32", name="x")
with O.graph(name="rsqrt_graph") as gb:
    O.rsqrt(x, name="y")
graph = gb.graph

# CHECK-LABEL: func.func @rsqrt_graph
# CHECK: linalg.generic
# CHECK-SAME: __xtc_id_y_, loop.dims = ["i", "j"]
# CHECK: math.sqrt
# CHECK: arith.divf

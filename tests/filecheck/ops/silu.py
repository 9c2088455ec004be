# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""silu is x over one plus an exponential."""

import xtc.ops as O

x = O.tensor((2, 3), "float32", name="x")
with O.graph(name="silu_graph") as gb:
    O.silu(x, name="y")
graph = gb.graph

# CHECK-LABEL: func.func @silu_graph
# CHECK: linalg.generic
# CHECK-SAME: __xtc_id_y_, loop.dims = ["i", "j"]
# CHECK: math.exp
# CHECK: arith.divf

# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""topk counts the elements before each element, then collects the first ones."""

import xtc.ops as O

x = O.tensor((4, 6), name="x")
with O.graph(name="topk_graph") as gb:
    O.topk(x, 2, name="y")
graph = gb.graph

# CHECK-LABEL: func.func @topk_graph
# CHECK: __xtc_id_y.ranks_
# CHECK: arith.cmpf ogt
# CHECK: __xtc_id_y_, loop.dims = ["i", "j", "k"]
# CHECK: arith.cmpi eq
# CHECK: arith.select

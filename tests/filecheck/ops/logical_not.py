# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""logical_not compares a byte with 0."""

import xtc.ops as O

x = O.tensor((2, 3), "bool", name="x")
with O.graph(name="logical_not_graph") as gb:
    O.logical_not(x, name="y")
graph = gb.graph

# CHECK-LABEL: func.func @logical_not_graph
# CHECK: linalg.generic
# CHECK-SAME: __xtc_id_y_, loop.dims = ["i", "j"]
# CHECK: arith.cmpi ne
# CHECK: arith.xori

# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""expand leaves repeated dimensions out of the operand's index map."""

import xtc.ops as O

x = O.tensor((1, 6), name="x")
with O.graph(name="expand_graph") as gb:
    O.expand(x, (3, 4, 6), name="y")
graph = gb.graph

# CHECK-DAG: affine_map<(d0, d1, d2) -> (d2)>
# CHECK-LABEL: func.func @expand_graph
# CHECK: linalg.yield

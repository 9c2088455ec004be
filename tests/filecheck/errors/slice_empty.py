# SPDX-License-Identifier: Apache-2.0
# RUN: not xtc-compile %s --stage source 2>&1 | FileCheck %s
"""An empty slice."""

import xtc.ops as O

x = O.tensor((5, 4), name="x")
with O.graph(name="wrong") as gb:
    O.slice(x, (0, 3), (5, -1))
graph = gb.graph

# CHECK: slice_empty.py:9: slice takes nothing of dimension 1: it starts at 3 and stops at 3
# CHECK-NEXT: note: the dimension has size 4

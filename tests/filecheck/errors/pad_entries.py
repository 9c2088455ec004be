# SPDX-License-Identifier: Apache-2.0
# RUN: not xtc-compile %s --stage source 2>&1 | FileCheck %s
"""One number as the padding of a whole tensor is refused: it is not said of which dimension."""

import xtc.ops as O

x = O.tensor((2, 3), name="x")
with O.graph(name="wrong") as gb:
    O.pad(x, 1)
graph = gb.graph

# CHECK: pad_entries.py:9: padding of pad is 1, not one (before, after) for each dimension
# CHECK-NEXT: hint: padding=((1, 1), (1, 1))

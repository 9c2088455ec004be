# SPDX-License-Identifier: Apache-2.0
# RUN: not xtc-compile %s --stage source 2>&1 | FileCheck %s
"""Sizes that neither agree nor are 1 do not broadcast."""

import xtc.ops as O

a = O.tensor((2, 3), name="a")
b = O.tensor((2,), name="b")
with O.graph(name="wrong") as gb:
    O.add(a, b)
graph = gb.graph

# CHECK: broadcast.py:10: shapes (2, 3) and (2,) of add do not broadcast
# CHECK-NEXT: note: aligned at the last dimension, sizes must be equal or 1

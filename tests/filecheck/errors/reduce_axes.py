# SPDX-License-Identifier: Apache-2.0
# RUN: not xtc-compile %s --stage source 2>&1 | FileCheck %s
"""Axes out of range."""

import xtc.ops as O

x = O.tensor((3, 4), name="x")
with O.graph(name="wrong") as gb:
    O.reduce_sum(x, axes=(0, 2))
graph = gb.graph

# CHECK: reduce_axes.py:9: axes of reduce_sum is 2, but the operand has rank 2
# CHECK-NEXT: note: axes run from -2 to 1

# SPDX-License-Identifier: Apache-2.0
# RUN: not xtc-compile %s --stage source 2>&1 | FileCheck %s
"""Padding has an entry for each dimension, or is a number, or a mapping from some dimensions."""

import xtc.ops as O

x = O.tensor((2, 3), name="x")
with O.graph(name="wrong") as gb:
    for padding in (1, {-1: 2}, {0: (0, 1), 1: 2}):
        O.pad(x, padding)
    O.pad(x, "1")
graph = gb.graph

# CHECK: pad_entries.py:11: padding of pad is '1', not one (before, after) for each dimension
# CHECK-NEXT: hint: padding=((0, 0), (0, 0)), a number for all, or {1: (0, 2)}

# SPDX-License-Identifier: Apache-2.0
# RUN: not xtc-compile %s --stage source 2>&1 | FileCheck %s
"""Operands of concat that differ in another dimension than the axis."""

import xtc.ops as O

a = O.tensor((2, 3), name="a")
b = O.tensor((4, 5), name="b")
with O.graph(name="wrong") as gb:
    O.concat(a, b, axis=1)
graph = gb.graph

# CHECK: concat_shape.py:10: dimension 0 of operand 1 of concat is 4, not 2
# CHECK-NEXT: note: only dimension 1, the axis, may differ

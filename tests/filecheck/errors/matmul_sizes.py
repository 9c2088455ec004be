# SPDX-License-Identifier: Apache-2.0
# RUN: not xtc-compile %s --stage source 2>&1 | FileCheck %s
"""The reduction dimensions differ."""

import xtc.ops as O

a = O.tensor((2, 3), name="a")
b = O.tensor((2, 3), name="b")
with O.graph(name="wrong") as gb:
    O.matmul(a, b)
graph = gb.graph

# CHECK: matmul_sizes.py:10: K of matmul is 3 in the first operand but 2 in the second
# CHECK-NEXT: note: operands of matmul: 2x3xfloat32, 2x3xfloat32

# SPDX-License-Identifier: Apache-2.0
# RUN: not xtc-compile %s --stage source 2>&1 | FileCheck %s
"""Integer division is refused: a zero would stop the program."""

import xtc.ops as O

n = O.tensor((4,), "int32", name="n")
with O.graph(name="wrong") as gb:
    O.div(n, 2)
graph = gb.graph

# CHECK: div_integers.py:9: div is not defined on int32
# CHECK-NEXT: note: an integer division by zero would stop the program
# CHECK-NEXT: note: operands of div: 4xint32, int32
# CHECK-NEXT: hint: O.cast(x, 'float32') converts an operand

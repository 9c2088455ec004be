# SPDX-License-Identifier: Apache-2.0
# RUN: not xtc-compile %s --stage source 2>&1 | FileCheck %s
"""A symbolic dimension must stay the first one."""

import xtc.ops as O

x = O.tensor(("n", 3, 4), name="x")
with O.graph(name="wrong") as gb:
    O.reshape(x, ("n", 8))
graph = gb.graph

# CHECK: reshape_symbol.py:9: shape of reshape is (-1, 8)
# CHECK-NEXT: note: the symbolic dimension 'n' stays first
# CHECK-NEXT: note: operands of reshape: nx3x4xfloat32
# CHECK-NEXT: hint: start with 'n' or -1; the other sizes multiply to 12

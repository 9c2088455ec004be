# SPDX-License-Identifier: Apache-2.0
# RUN: not xtc-compile %s --stage source 2>&1 | FileCheck %s
"""A reshape to another number of elements."""

import xtc.ops as O

x = O.tensor((2, 3), name="x")
with O.graph(name="wrong") as gb:
    O.reshape(x, (4, -1))
graph = gb.graph

# CHECK: reshape_size.py:9: shape of reshape is (4, -1), but the operand 2x3xfloat32 has 6 elements

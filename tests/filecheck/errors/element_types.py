# SPDX-License-Identifier: Apache-2.0
# RUN: not xtc-compile %s --stage source 2>&1 | FileCheck %s
"""Nothing is promoted silently."""

import xtc.ops as O

a = O.tensor((3,), "float32", name="a")
b = O.tensor((3,), "float64", name="b")
with O.graph(name="wrong") as gb:
    O.mul(a, b)
graph = gb.graph

# CHECK: element_types.py:10: operands of mul have different element types: float32 and float64
# CHECK: hint: O.cast(x, 'float32') converts one of them

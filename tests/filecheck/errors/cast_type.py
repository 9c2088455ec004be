# SPDX-License-Identifier: Apache-2.0
# RUN: not xtc-compile %s --stage source 2>&1 | FileCheck %s
"""An element type that does not exist."""

import xtc.ops as O

x = O.tensor((3,), name="x")
with O.graph(name="wrong") as gb:
    O.cast(x, "flaot16")
graph = gb.graph

# CHECK: cast_type.py:9: unknown element type 'flaot16'
# CHECK-NEXT: hint: did you mean 'float16'?

# SPDX-License-Identifier: Apache-2.0
# RUN: not xtc-compile %s --stage source 2>&1 | FileCheck %s
"""The condition must be bool."""

import xtc.ops as O

x = O.tensor((3,), name="x")
with O.graph(name="wrong") as gb:
    O.where(x, x, 0.0)
graph = gb.graph

# CHECK: where_condition.py:9: the condition of where is float32, not bool
# CHECK: hint: O.cast(x, 'bool') is x != 0

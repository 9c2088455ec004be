# SPDX-License-Identifier: Apache-2.0
# RUN: not xtc-compile %s --stage source 2>&1 | FileCheck %s
"""The user has to choose a float type for a mean of integers."""

import xtc.ops as O

n = O.tensor((3, 4), "int8", name="n")
with O.graph(name="wrong") as gb:
    O.reduce_mean(n)
graph = gb.graph

# CHECK: reduce_mean_integers.py:9: reduce_mean is not defined on int8
# CHECK: hint: O.cast(x, 'float32') converts the operand

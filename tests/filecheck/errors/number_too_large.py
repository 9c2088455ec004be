# SPDX-License-Identifier: Apache-2.0
# RUN: not xtc-compile %s --stage source 2>&1 | FileCheck %s
"""A number must fit the element type of the tensor beside it."""

import xtc.ops as O

x = O.tensor((3,), "int8", name="x")
with O.graph(name="wrong") as gb:
    O.maximum(x, 200)
graph = gb.graph

# CHECK: number_too_large.py:9: the number 200 does not fit int8

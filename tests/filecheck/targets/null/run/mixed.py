# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-run %s --check | FileCheck %s
"""Operators on the host and on two devices, with a weight on one of them, agree with NumPy."""

import numpy as np

import xtc.ops as O

x = O.tensor((5, 8), name="X")
w = O.tensor((8, 3), name="W", device="null1", const=np.arange(24, dtype=np.float32).reshape(8, 3))
with O.graph(name="mixed") as graph:
    a = O.relu(x, name="A", device="null0")
    b = O.matmul(a, w, name="B", device="null1")
    c = O.add(b, b, name="C")
    O.outputs(b, O.softmax(c, axis=1, name="D", device="null0"))

# CHECK:      check B: all 15 elements agree
# CHECK-NEXT: check D: all 15 elements agree

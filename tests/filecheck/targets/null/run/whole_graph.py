# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-run %s --target null --check | FileCheck %s
"""A graph without placements runs as a whole on the accelerator that it is compiled for."""

import xtc.ops as O

a = O.tensor((4, 16), name="A")
b = O.tensor((16, 8), name="B")
with O.graph(name="product") as graph:
    O.relu(O.matmul(a, b, name="C"), name="D")

# CHECK: check D: all 32 elements agree

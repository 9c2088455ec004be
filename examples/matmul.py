# SPDX-License-Identifier: Apache-2.0
"""One matmul, the graph that docs/walk.md follows: `xtc-run examples/matmul.py`."""

import xtc.ops as O

a = O.tensor((4, 16), name="A")
b = O.tensor((16, 8), name="B")
with O.graph(name="matmul") as graph:
    O.matmul(a, b, name="C")

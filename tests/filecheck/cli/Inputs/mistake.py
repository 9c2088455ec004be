# SPDX-License-Identifier: Apache-2.0
"""A mistake in the graph itself."""

import xtc.ops as O

a = O.tensor((4, 16), name="A")
with O.graph(name="product") as graph:
    O.matmul(a, a, name="C")

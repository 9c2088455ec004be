# SPDX-License-Identifier: Apache-2.0
"""A graph whose first dimension is a name; it is the only graph here, so it needs no name itself."""

import xtc.ops as O

x = O.tensor(("N", 3), name="X")
with O.graph(name="positive") as builder:
    O.relu(x, name="Y")

# SPDX-License-Identifier: Apache-2.0
"""Two graphs, of which none is called `graph`."""

import xtc.ops as O

x = O.tensor((2,), name="X")
with O.graph(name="first") as first:
    O.relu(x)
with O.graph(name="second") as second:
    O.relu(x)

# SPDX-License-Identifier: Apache-2.0
"""The graph that tests of the cache compile."""

from __future__ import annotations

import numpy as np

import xtc
import xtc.ops as O


def matmul_graph(rows: int = 4, name: str = "product", scale: float = 2.0) -> xtc.Graph:
    """relu(a @ w) for a of rows x 6 and w of 6 x 8, with all weights equal to `scale`."""
    a = O.tensor((rows, 6), name="a")
    w = O.tensor((6, 8), name="w", const=np.full((6, 8), scale, np.float32))
    with O.graph(name=name) as gb:
        O.relu(O.matmul(a, w), name="c")
    return gb.graph

# SPDX-License-Identifier: Apache-2.0
"""Small graphs on devices, and counters of data movement."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

import xtc.ops as O
from xtc.graph.graph import Graph
from xtc_targets.null import NullDevice

A = np.arange(64, dtype=np.float32).reshape(4, 16)
B = np.arange(128, dtype=np.float32).reshape(16, 8) % 7
A_BYTES, B_BYTES, C_BYTES = 256, 512, 128


def matmul_graph(device: object, *, weight: bool = False, a_device: object = None) -> Graph:
    """C = A B on `device`, where B and C live; B is an argument or a weight."""
    a = O.tensor((4, 16), name="A", device=a_device)
    b = O.tensor((16, 8), name="B", device=device, const=B if weight else None)
    with O.graph(name="product") as gb:
        O.matmul(a, b, name="C", device=device)
    return gb.graph


_COUNTERS = {
    "launches": "null.LAUNCHES",
    "bytes_to_device": "null.H2D_BYTES",
    "bytes_from_device": "null.D2H_BYTES",
    "bytes_within_device": "null.D2D_BYTES",
}


@contextmanager
def counted(device: NullDevice, **expected: int) -> Iterator[None]:
    """Check the increments of `device`'s counters in the block; counters that are not named must
    not change.

    Names are those of `_COUNTERS`, or the counters themselves.
    """
    before = device.counters()
    yield
    counts = {name: int(count - before[name]) for name, count in device.counters().items()}
    named = {_COUNTERS.get(name, name): count for name, count in expected.items()}
    assert counts == {**dict.fromkeys(counts, 0), **named}

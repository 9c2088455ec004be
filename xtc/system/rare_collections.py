# SPDX-License-Identifier: Apache-2.0
"""Less frequent garbage collections for code that makes many objects and few cycles."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_OBJECTS = 100_000
"""New objects after which Python collects the youngest generation; by default some hundreds."""

_lock = threading.Lock()
_before: list[tuple[int, int, int]] = []
_inside = [0]


@contextmanager
def rare_collections() -> Iterator[None]:
    """Collect garbage rarely inside the block; blocks of several threads may overlap.

    The user's settings are restored after the last of them. Collections that the user has disabled
    stay disabled.
    """
    with _lock:
        _inside[0] += 1
        if _inside[0] == 1:
            _before.append(gc.get_threshold())
            gc.set_threshold(max(_OBJECTS, _before[0][0]) if _before[0][0] else 0, *_before[0][1:])
    try:
        yield
    finally:
        with _lock:
            _inside[0] -= 1
            if not _inside[0]:
                gc.set_threshold(*_before.pop())

# SPDX-License-Identifier: Apache-2.0
"""Python looks for garbage less often while something makes many objects and few cycles."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_OBJECTS = 100_000
"""New objects after which Python looks for cycles among them; by itself after some hundreds."""

_lock = threading.Lock()
_before: list[tuple[int, int, int]] = []
_inside = [0]


@contextmanager
def rare_collections() -> Iterator[None]:
    """Let Python look for garbage rarely during the block; blocks of several threads may overlap.

    The user's own settings hold again behind the last of them. Where the user has switched
    collections off, they stay off.
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

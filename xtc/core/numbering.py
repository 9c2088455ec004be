# SPDX-License-Identifier: Apache-2.0
"""Numbers for live instances, such as the devices of one target."""

from __future__ import annotations

import itertools
import threading


class Numbering:
    """Assigns the smallest free number from 0. Thread-safe."""

    def __init__(self) -> None:
        self._taken: set[int] = set()
        self._lock = threading.Lock()

    def take(self) -> int:
        """Reserve a number until `release` releases it."""
        with self._lock:
            number = next(n for n in itertools.count() if n not in self._taken)
            self._taken.add(number)
            return number

    def release(self, number: int) -> None:
        """Release a number that `take` returned."""
        with self._lock:
            self._taken.remove(number)

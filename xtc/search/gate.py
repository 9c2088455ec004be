# SPDX-License-Identifier: Apache-2.0
"""Separates compiling and measuring, if measured code uses all cores."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Gate:
    """Several threads may compile, or one may measure; measuring has priority."""

    def __init__(self, *, exclusive: bool) -> None:
        """Without `exclusive`, no thread blocks."""
        self._exclusive = exclusive
        self._changed = threading.Condition()
        self._compiling = 0
        self._to_measure = 0

    def announce(self) -> None:
        """Announce a measurement: no compilation starts until it is done."""
        with self._changed:
            self._to_measure += 1

    @contextmanager
    def compiling(self) -> Iterator[None]:
        """A block that compiles."""
        with self._changed:
            self._changed.wait_for(lambda: not self._exclusive or self._to_measure == 0)
            self._compiling += 1
        try:
            yield
        finally:
            self._left(compiling=1)

    @contextmanager
    def measuring(self) -> Iterator[None]:
        """A block that performs an announced measurement."""
        try:
            with self._changed:
                self._changed.wait_for(lambda: not self._exclusive or self._compiling == 0)
            yield
        finally:
            self._left(measured=1)

    def open(self) -> None:
        """Stop blocking threads."""
        with self._changed:
            self._exclusive = False
            self._changed.notify_all()

    def _left(self, compiling: int = 0, measured: int = 0) -> None:
        with self._changed:
            self._compiling -= compiling
            self._to_measure -= measured
            self._changed.notify_all()

# SPDX-License-Identifier: Apache-2.0
"""Keeps compiling and measuring apart, where what is measured uses all cores."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Gate:
    """Several may compile at a time, or one may measure; whoever waits to measure comes first."""

    def __init__(self, *, exclusive: bool) -> None:
        """Without `exclusive` no thread waits."""
        self._exclusive = exclusive
        self._changed = threading.Condition()
        self._compiling = 0
        self._to_measure = 0

    def announce(self) -> None:
        """Something will be measured: nothing new is compiled until it was."""
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
        """A block that measures what was announced."""
        try:
            with self._changed:
                self._changed.wait_for(lambda: not self._exclusive or self._compiling == 0)
            yield
        finally:
            self._left(measured=1)

    def open(self) -> None:
        """Let everybody pass from now on."""
        with self._changed:
            self._exclusive = False
            self._changed.notify_all()

    def _left(self, compiling: int = 0, measured: int = 0) -> None:
        with self._changed:
            self._compiling -= compiling
            self._to_measure -= measured
            self._changed.notify_all()

# SPDX-License-Identifier: Apache-2.0
"""Tracks in-flight calls, so that code is not unmapped while it runs."""

from __future__ import annotations

import os
import threading
from types import TracebackType

from xtc.core.errors import UserError


class InFlightCalls:
    """A context manager around each call of an object; `name` is its name in errors.

    Thread-safe: `close` waits for calls in other threads. After a fork, calls that were in flight
    in the parent do not count in the child.
    """

    def __init__(self, name: str) -> None:
        self.closed = False
        self._name = name
        self._changed = threading.Condition()
        self._under_way: list[tuple[int, int]] = []  # process and thread

    def close(self) -> None:
        """Refuse new calls, then wait for in-flight ones.

        Raises UserError during a call in the same thread, which would deadlock.
        """
        with self._changed:
            if _current() in self._under_way:
                raise UserError(f"{self._name} cannot be closed while it runs in the same thread")
            self.closed = True
            self._changed.wait_for(self._is_free)

    def require_open(self) -> None:
        """Raise UserError after `close`."""
        if self.closed:
            raise UserError(f"{self._name} is closed", hints=["compile or load it again"])

    def __enter__(self) -> None:
        current = _current()
        self._under_way.append(current)  # before the look at `closed`, which `close` sets first
        if self.closed:
            self._leave(current)
            self.require_open()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._leave(_current())

    def _leave(self, current: tuple[int, int]) -> None:
        """End a use; wake `close`, which waits for uses that began before it."""
        self._under_way.remove(current)
        if self.closed:
            with self._changed:
                self._changed.notify_all()

    def _is_free(self) -> bool:
        return all(process != os.getpid() for process, _ in self._under_way)


def _current() -> tuple[int, int]:
    return os.getpid(), threading.get_ident()

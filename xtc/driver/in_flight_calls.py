# SPDX-License-Identifier: Apache-2.0
"""In-flight calls, so that code is not unmapped while it runs."""

from __future__ import annotations

import os
import threading
from types import TracebackType

from xtc.core.errors import UserError


class InFlightCalls:
    """A context manager around each use of what `close` ends; `name` is what errors call it.

    Any thread may use it, and close it: that waits for the uses of other threads. Those that a
    process had under way when it forked do not go on in the child.
    """

    def __init__(self, name: str) -> None:
        self.closed = False
        self._name = name
        self._changed = threading.Condition()
        self._under_way: list[tuple[int, int]] = []  # process and thread

    def close(self) -> None:
        """Refuse new uses, then wait for those under way.

        Raises UserError in the midst of a use of the same thread, which could not end.
        """
        with self._changed:
            if _current() in self._under_way:
                raise UserError(f"{self._name} cannot be closed while it runs in the same thread")
            self.closed = True
            self._changed.wait_for(self._is_free)

    def require_open(self) -> None:
        """Raise UserError once `close` was called."""
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

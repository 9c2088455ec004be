# SPDX-License-Identifier: Apache-2.0
"""Delays interrupts (Ctrl-C) during code that an interrupt would crash."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

Handler = Callable[[int, FrameType | None], object]


class _Delays:
    """The signal handler inside `many_delays`, which records interrupts while a delay is active."""

    def __init__(self, handler: Handler) -> None:
        self.thread = threading.get_ident()
        self.depth = 0
        self._handler = handler
        self._came = 0

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.depth:
            self._came += 1
        else:
            self._handler(number, frame)

    def end(self) -> None:
        """End a delay; after the outermost one, pending interrupts take effect."""
        self.depth -= 1
        if not self.depth and self._came:
            self._came = 0
            signal.raise_signal(signal.SIGINT)


_delays: list[_Delays] = []
"""The handler of the main thread while it is inside `many_delays`."""


@contextmanager
def many_delays() -> Iterator[None]:
    """Make delays inside the block cheap; replacing a handler twice takes 20 microseconds."""
    handler = signal.getsignal(signal.SIGINT)
    if _delays or not _is_main_thread() or not callable(handler):
        yield
        return
    _delays.append(_Delays(handler))
    signal.signal(signal.SIGINT, _delays[0])
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        _delays.clear()


@contextmanager
def delayed_interrupts() -> Iterator[None]:
    """Delay interrupts of the block until its end, in the main thread.

    Other threads get no interrupts. The user's handler then runs as usual.
    """
    if _delays and _delays[0].thread == threading.get_ident():
        delays = _delays[0]
        delays.depth += 1
        try:
            yield
        finally:
            delays.end()
        return
    with _replaced_handler():
        yield


@contextmanager
def _replaced_handler() -> Iterator[None]:
    handler = signal.getsignal(signal.SIGINT)
    if not _is_main_thread() or not callable(handler):
        yield
        return
    came: list[int] = []

    def remember(number: int, _: FrameType | None) -> None:
        came.append(number)

    signal.signal(signal.SIGINT, remember)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if came:
            signal.raise_signal(signal.SIGINT)


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()

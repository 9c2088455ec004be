# SPDX-License-Identifier: Apache-2.0
"""Delays interrupts (Ctrl-C) during code that they would crash."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def delayed_interrupts() -> Iterator[None]:
    """Let an interrupt of the block take effect at its end, where this is the main thread.

    Other threads see none, and what the user's program does at an interrupt is done all the same.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
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

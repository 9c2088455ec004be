# SPDX-License-Identifier: Apache-2.0
"""How many threads parallel loops run on."""

from __future__ import annotations

import os

from xtc.core import knobs
from xtc.core.errors import UserError, shown

MAX_THREADS = 1024
"""What the pool of csrc/parallel.c can hold, with the caller."""


def check_threads(threads: object, what: str = "threads") -> int:
    """`threads` where it is a number that can be asked for. Raises UserError."""
    if isinstance(threads, bool) or not isinstance(threads, int):
        raise UserError(f"{what}={shown(threads)} is {type(threads).__name__}, not a number")
    if not 1 <= threads <= MAX_THREADS:
        raise UserError(
            f"{what}={shown(threads)} is not from 1 to {MAX_THREADS}",
            hints=["leave it out to use every core that this process may use"],
        )
    return threads


def default_threads() -> int:
    """The knob XTC_THREADS, else the cores that this process may use. Raises UserError."""
    chosen = knobs.THREADS.get()
    if chosen is not None:
        return check_threads(chosen, knobs.THREADS.name)
    return min(_usable_cores(), MAX_THREADS)


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

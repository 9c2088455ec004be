# SPDX-License-Identifier: Apache-2.0
"""Resource limits of a child process."""

from __future__ import annotations

import faulthandler
import math
import resource
import signal
from dataclasses import dataclass
from pathlib import Path

from xtc.core.errors import UserError

_MAX_SECONDS = 1e8  # three years, which fits every system's timers
_MIN_MEMORY = 1 << 20
_MAX_MEMORY = 1 << 46
_STACK = 64 << 20
_RESET = ("SIGINT", "SIGTERM", "SIGALRM", "SIGXCPU", "SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE")


@dataclass(frozen=True)
class Limits:
    """Limits of one piece of work.

    Attributes:
        seconds: wall time.
        memory_bytes: address space in addition to the process' use at the start of the work. Not
            enforced on macOS, whose kernel has no such limit.
    """

    seconds: float = 60.0
    memory_bytes: int = 4 << 30

    def __post_init__(self) -> None:
        if not 0 < self.seconds <= _MAX_SECONDS:
            raise UserError(
                f"a time limit of {self.seconds:g} s is not between 0 and {_MAX_SECONDS:g} s"
            )
        if not _MIN_MEMORY <= self.memory_bytes <= _MAX_MEMORY:
            raise UserError(
                f"a memory limit of {self.memory_bytes} bytes is not from {_MIN_MEMORY} to "
                f"{_MAX_MEMORY}"
            )

    def apply(self) -> None:
        """Apply the limits to this process; signals get their default actions."""
        faulthandler.disable()
        for name in _RESET:
            signal.signal(getattr(signal, name), signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        signal.setitimer(signal.ITIMER_REAL, self.seconds)
        _limit(resource.RLIMIT_CPU, math.ceil(self.seconds) + 1)
        _limit(resource.RLIMIT_CORE, 0)
        _limit(resource.RLIMIT_STACK, _STACK)
        used = _address_space()
        if used is not None:
            _limit(resource.RLIMIT_AS, used + self.memory_bytes)


def _limit(kind: int, value: int) -> None:
    """Set a limit, or keep an existing lower hard limit."""
    _, hard = resource.getrlimit(kind)
    lowest = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (lowest, hard))


def _address_space() -> int | None:
    """Bytes of address space in use, None if the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        return None
    return pages * resource.getpagesize()

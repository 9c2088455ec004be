# SPDX-License-Identifier: Apache-2.0
"""Waits until nothing else runs on the machine, as far as Linux reports it."""

from __future__ import annotations

import time
from pathlib import Path

_STAT = Path("/proc/stat")
_PAUSE = 0.002


def others_running(stat: Path = _STAT) -> int | None:
    """The number of other tasks that are ready to run; None if the system does not report it."""
    try:
        lines = stat.read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    counts = [line.split()[1] for line in lines if line.startswith("procs_running ")]
    return max(0, int(counts[0]) - 1) if counts else None


def wait_for_quiet(seconds: float, stat: Path = _STAT) -> bool | None:
    """Wait until nothing else runs; returns False if that does not happen within `seconds`.

    Returns None at once if the system does not report it.
    """
    end = time.monotonic() + seconds
    while (others := others_running(stat)) != 0:
        if others is None:
            return None
        if time.monotonic() >= end:
            return False
        time.sleep(_PAUSE)
    return True

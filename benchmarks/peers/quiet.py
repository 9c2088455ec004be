# SPDX-License-Identifier: Apache-2.0
"""Waits for moments in which nothing else runs on the machine, as far as Linux tells."""

from __future__ import annotations

import time
from pathlib import Path

_STAT = Path("/proc/stat")
_PAUSE = 0.002


def others_running(stat: Path = _STAT) -> int | None:
    """How many tasks but this one are ready to run now; None where the system does not tell."""
    try:
        lines = stat.read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    counts = [line.split()[1] for line in lines if line.startswith("procs_running ")]
    return max(0, int(counts[0]) - 1) if counts else None


def wait_for_quiet(seconds: float, stat: Path = _STAT) -> bool | None:
    """True as soon as nothing else runs; False where that does not come within `seconds`.

    None at once where the system does not tell.
    """
    end = time.monotonic() + seconds
    while (others := others_running(stat)) != 0:
        if others is None:
            return None
        if time.monotonic() >= end:
            return False
        time.sleep(_PAUSE)
    return True

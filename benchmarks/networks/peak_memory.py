# SPDX-License-Identifier: Apache-2.0
"""The most memory that this process had."""

from __future__ import annotations

import re
import resource
from pathlib import Path

_STATUS = Path("/proc/self/status")


def peak_bytes() -> int:
    """Resident memory at its most, in bytes.

    On Linux `getrusage` counts what the process had before it became this program as well: the
    memory of the program that started it.
    """
    if _STATUS.is_file():
        found = re.search(r"VmHWM:\s+(\d+) kB", _STATUS.read_text())
        if found:
            return int(found[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

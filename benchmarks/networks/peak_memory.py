# SPDX-License-Identifier: Apache-2.0
"""The peak memory of this process."""

from __future__ import annotations

import re
import resource
from pathlib import Path

_STATUS = Path("/proc/self/status")


def peak_bytes() -> int:
    """Peak resident memory in bytes.

    On Linux, `getrusage` also counts the memory of the process before `exec`, which is that of its
    parent.
    """
    if _STATUS.is_file():
        found = re.search(r"VmHWM:\s+(\d+) kB", _STATUS.read_text())
        if found:
            return int(found[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

# SPDX-License-Identifier: Apache-2.0
"""The number of usable cores."""

from __future__ import annotations

import math
import os

from xtc.system.cpu_quota import cpu_quota


def usable_cores() -> int:
    """The number of cores that this process may use, by its affinity and its quota."""
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    quota = cpu_quota()
    return cores if quota is None else max(1, min(cores, math.ceil(quota)))

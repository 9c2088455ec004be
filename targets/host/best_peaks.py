# SPDX-License-Identifier: Apache-2.0
"""Stores the highest rate of each measurement on this machine, beside the artifact cache.

A peak is the best that the machine can do, not the result of a measurement that was disturbed or
made at a low clock. If the file cannot be read or written, a process knows only its own peaks.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import platform
import tempfile
from pathlib import Path

from xtc.system.cache.cache_folder import CacheFolder
from xtc.system.cache.configured import configured_cache

FILE = "peaks.json"


def best_ever(name: str, rate: float) -> float:
    """The highest rate of this name on this machine, including `rate`, which is stored."""
    folder = CacheFolder(configured_cache().root)
    name = f"{platform.node()} {name}"
    known = _read(folder.root / FILE)
    best = max(rate, known.get(name, 0.0))
    if best > known.get(name, 0.0):
        with contextlib.suppress(OSError):
            folder.prepare()
            _write(folder.root / FILE, {**_read(folder.root / FILE), name: best})
    return best


def _read(path: Path) -> dict[str, float]:
    """The positive numbers in the file; empty if it is missing or damaged."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {
        name: float(rate)
        for name, rate in found.items()
        if isinstance(rate, float | int) and math.isfinite(rate) and rate > 0
    }


def _write(path: Path, peaks: dict[str, float]) -> None:
    """Write the file atomically; of two concurrent writers, one wins."""
    descriptor, name = tempfile.mkstemp(dir=path.parent / "tmp")
    try:
        with os.fdopen(descriptor, "w") as file:
            json.dump(peaks, file, indent=1)
        Path(name).replace(path)
    except OSError:
        Path(name).unlink()
        raise

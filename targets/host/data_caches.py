# SPDX-License-Identifier: Apache-2.0
"""The data caches of this machine's first core, as the operating system reports them."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

_FOLDER = Path("/sys/devices/system/cpu/cpu0/cache")


@dataclass(frozen=True)
class Caches:
    """The sizes of a core's data caches, in bytes.

    Attributes:
        l1_bytes: size of the first level; the default is a guess if the system does not report it.
        l2_bytes: size of the second level, per core; the default likewise.
    """

    l1_bytes: int = 32 << 10
    l2_bytes: int = 256 << 10


@functools.lru_cache(maxsize=1)
def detected_caches() -> Caches:
    """The caches of this machine, or the guesses if the system does not report them."""
    usual = Caches()
    found = {
        level: size for folder in sorted(_FOLDER.glob("index*")) for level, size in _of(folder)
    }
    return Caches(found.get(1, usual.l1_bytes), found.get(2, usual.l2_bytes))


def _of(folder: Path) -> list[tuple[int, int]]:
    """Level and bytes of a cache that holds data; empty for other and unknown caches."""
    try:
        level, kind, size = (
            (folder / name).read_text().strip() for name in ("level", "type", "size")
        )
        return [] if kind == "Instruction" else [(int(level), int(size.removesuffix("K")) << 10)]
    except (OSError, ValueError):
        return []

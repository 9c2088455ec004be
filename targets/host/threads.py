# SPDX-License-Identifier: Apache-2.0
"""How many threads parallel loops run on."""

from __future__ import annotations

from collections.abc import Mapping

from xtc.core import knobs
from xtc.core.errors import ArtifactError, UserError, shown
from xtc.system.cores import usable_cores

MAX_THREADS = 1024
"""What the pool of csrc/parallel.c can hold, with the caller."""

KEY = "threads"
"""Where a manifest's toolchain has the number that the compiler was told, or `ALL`."""
ALL = "all"


def check_threads(threads: int, what: str = "threads") -> int:
    """`threads` where it is a number that can be asked for. Raises UserError."""
    if not 1 <= threads <= MAX_THREADS:
        raise UserError(
            f"{what}={shown(threads)} is not from 1 to {MAX_THREADS}",
            hints=["leave it out to use every core that this process may use"],
        )
    return threads


def threads_to_use(toolchain: Mapping[str, str]) -> int:
    """The number in a manifest; where none was chosen XTC_THREADS, else all usable cores.

    Raises UserError for a number in XTC_THREADS that cannot be used, ArtifactError for another.
    """
    recorded = toolchain.get(KEY, ALL)
    if recorded != ALL:
        return _recorded_threads(recorded)
    chosen = knobs.THREADS.get()
    if chosen is not None:
        return check_threads(chosen, knobs.THREADS.name)
    return min(usable_cores(), MAX_THREADS)


def _recorded_threads(text: str) -> int:
    try:
        return check_threads(int(text))
    except (ValueError, UserError):
        raise ArtifactError(f"the manifest asks for {shown(text)} threads") from None

# SPDX-License-Identifier: Apache-2.0
"""The number of threads for parallel loops."""

from __future__ import annotations

from collections.abc import Mapping

from xtc.core import knobs
from xtc.core.errors import ArtifactError, UserError, shown
from xtc.system.cores import usable_cores

MAX_THREADS = 1024
"""The most threads of the pool in csrc/parallel.c, caller included."""

KEY = "threads"
"""The key in a manifest's toolchain with the number of threads of the options, or `ALL`."""
ALL = "all"


def check_threads(threads: int, what: str = "threads") -> int:
    """`threads`, if it is a valid number. Raises UserError."""
    if not 1 <= threads <= MAX_THREADS:
        raise UserError(
            f"{what}={shown(threads)} is not from 1 to {MAX_THREADS}",
            hints=["omit it to use all cores that this process may use"],
        )
    return threads


def threads_to_use(toolchain: Mapping[str, str]) -> int:
    """The number in a manifest, or else XTC_THREADS, or else the number of usable cores.

    Raises UserError for an invalid XTC_THREADS, and ArtifactError for an invalid manifest.
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

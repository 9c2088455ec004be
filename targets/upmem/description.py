# SPDX-License-Identifier: Apache-2.0
"""The machine as data: what a chip of each version has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from xtc.core.errors import UserError, did_you_mean


@dataclass(frozen=True)
class DpuDescription:
    """A DPU of one version of the chip.

    Source of all numbers but the last: UPMEM's documentation, "Programming with UPMEM DPUs".

    Attributes:
        name: of the version.
        frequency: cycles per second.
        iram_instructions: of a program.
        wram_bytes: for data, stacks and heap of a program.
        mram_bytes: of each DPU.
        tasklets: of a program at most.
        mutexes: atomic bits.
        dma_min_bytes: of a transfer between MRAM and WRAM, also its granule and alignment.
        dma_max_bytes: of a transfer.
        pipeline: cycles between two instructions of one tasklet, and so the number of tasklets
            that keep the pipeline full.
        has_parallel_access: whether the host reaches WRAM while a program runs.
    """

    name: str
    frequency: int
    iram_instructions: int
    wram_bytes: int
    tasklets: int
    mutexes: int
    has_parallel_access: bool
    mram_bytes: int = 64 << 20
    dma_min_bytes: int = 8
    dma_max_bytes: int = 2048
    pipeline: int = 11


PROFILES: Final[dict[str, DpuDescription]] = {
    description.name: description
    for description in (
        DpuDescription("v1A", 350_000_000, 4096, 65536, 24, 56, has_parallel_access=False),
        DpuDescription("v1B", 400_000_000, 3968, 63488, 16, 64, has_parallel_access=True),
    )
}
DPUS_PER_RANK: Final = 64
MAX_DPUS: Final = 2560
"""DPUs of the largest server, 20 modules of 128."""


def profile_named(name: str) -> DpuDescription:
    """A version of the chip by its name. Raises UserError."""
    if name not in PROFILES:
        raise UserError(
            f"there is no profile {name!r}",
            notes=[f"profiles are {' and '.join(PROFILES)}"],
            hints=did_you_mean(str(name), PROFILES),
        )
    return PROFILES[name]


def default_profile(tasklets: int) -> DpuDescription:
    """The newer chip, unless a program has more tasklets than it."""
    newer = PROFILES["v1B"]
    return newer if tasklets <= newer.tasklets else PROFILES["v1A"]

# SPDX-License-Identifier: Apache-2.0
"""The versions of the chip as frozen data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from xtc.core.errors import UserError, did_you_mean


@dataclass(frozen=True)
class DpuDescription:
    """A DPU of one version of the chip.

    The source of all numbers but the last is UPMEM's documentation, "Programming with UPMEM DPUs".

    Attributes:
        name: name of the version.
        frequency: clock frequency in Hz.
        iram_instructions: most instructions of a program.
        wram_bytes: WRAM for data, stacks and heap of a program.
        mram_bytes: MRAM of each DPU.
        tasklets: most tasklets of a program.
        mutexes: number of atomic bits.
        dma_min_bytes: least size of a transfer between MRAM and WRAM, also its granule and
            alignment.
        dma_max_bytes: largest size of a transfer.
        pipeline: cycles between two instructions of a tasklet, and thus the number of tasklets that
            fill the pipeline.
        has_parallel_access: whether the host can access WRAM while a program runs.
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
"""The number of DPUs of the largest server: 20 modules of 128."""


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
    """The newer chip, unless a program needs more tasklets than it has."""
    newer = PROFILES["v1B"]
    return newer if tasklets <= newer.tasklets else PROFILES["v1A"]

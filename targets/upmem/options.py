# SPDX-License-Identifier: Apache-2.0
"""The options of code for DPUs."""

from __future__ import annotations

from dataclasses import dataclass

from xtc.core.errors import UserError, shown
from xtc.interfaces.options import of_machine
from xtc_targets.upmem.description import MAX_DPUS, DpuDescription, profile_named

PLATFORMS = ("sim", "hw")
STACK_BYTES = 768
"""Stack of each tasklet; generated kernels have no deep calls."""
RESERVED_BYTES = 4096
"""WRAM for arguments, synchronization, constants and the state of the run-time library."""


@dataclass(frozen=True)
class UpmemOptions:
    """Options of `xtc.compile(..., target="upmem")`.

    Attributes:
        nr_dpus: number of DPUs that share the work of a graph.
        tasklets: number of tasklets of each DPU; 11 fill its pipeline.
        profile: version of the chip, `v1A` or `v1B`.
        platform: `sim` compiles for the simulator, `hw` for DPUs with the vendor's compiler.
    """

    nr_dpus: int = of_machine(1)
    tasklets: int = 16
    profile: str = of_machine("v1B")
    platform: str = of_machine("sim")

    def __post_init__(self) -> None:
        machine = profile_named(self.profile)
        if self.platform not in PLATFORMS:
            raise UserError(f"platform={shown(self.platform)} is not one of {', '.join(PLATFORMS)}")
        for name, most in (("nr_dpus", MAX_DPUS), ("tasklets", machine.tasklets)):
            value = getattr(self, name)
            if not 1 <= value <= most:
                raise UserError(
                    f"{name}={shown(value)} is not from 1 to {most}",
                    notes=[f"the machine is a {machine.name}"],
                )

    @property
    def machine(self) -> DpuDescription:
        """The description of a DPU of this profile."""
        return profile_named(self.profile)

    @property
    def local_bytes(self) -> int:
        """WRAM for the tiles of one tasklet."""
        free = self.machine.wram_bytes - RESERVED_BYTES - self.tasklets * STACK_BYTES
        return free // self.tasklets // 8 * 8

# SPDX-License-Identifier: Apache-2.0
"""How a GPU is opened."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from xtc.core.checks import one_of, positive, whole
from xtc.core.errors import UserError, shown
from xtc_targets.nvgpu.description import GIB, MACHINES, MIB, GpuDescription

Platform = Literal["sim", "hw"]
PLATFORMS = ("sim", "hw")
SCHEDULES = ("sequential", "shuffled")
_HARDWARE_ONLY = ("device_index", "driver_library")
_SIMULATOR_ONLY = ("sim_schedule", "seed", "memory_bytes")


@dataclass(frozen=True)
class NvgpuConfig:
    """Which GPU, and how it behaves where that is a simulator's choice.

    Attributes:
        platform: "sim" is the simulator of this project, "hw" a GPU of this machine.
        arch: what code is compiled for, "sm_80" or "sm_90a"; a GPU must be able to run it.
        device_index: of the GPU among those that the driver shows, for "hw".
        driver_library: NVIDIA's driver, as the system's loader finds it, for "hw".
        sim_schedule: "sequential" runs blocks and threads by their numbers, "shuffled" in a random
            order, which exposes races; for the simulator alone, as `seed` and `memory_bytes` are.
        seed: of that order; the same seed gives the same order.
        memory_bytes: size of the simulated global memory.
        timeout_s: seconds that one kernel may take. A simulator stops it then; a GPU cannot be
            stopped: its device is lost, and runs the kernel until this process ends.
    """

    platform: Platform = "sim"
    arch: str = "sm_90a"
    device_index: int = 0
    driver_library: Path | str = "libcuda.so.1"
    sim_schedule: Literal["sequential", "shuffled"] = "sequential"
    seed: int = 0
    memory_bytes: int = GIB
    timeout_s: float = 60.0

    def __post_init__(self) -> None:
        one_of("platform", self.platform, PLATFORMS)
        one_of("arch", self.arch, tuple(MACHINES))
        one_of("sim_schedule", self.sim_schedule, SCHEDULES)
        whole("device_index", self.device_index, 0, 255)
        whole("seed", self.seed, 0, 2**64 - 1)
        whole("memory_bytes", self.memory_bytes, MIB, self.machine.memory_bytes)
        if self.memory_bytes % MIB:
            raise UserError(f"memory_bytes={self.memory_bytes} is not a multiple of {MIB}")
        positive("timeout_s", self.timeout_s)
        if not isinstance(self.driver_library, str | Path) or not str(self.driver_library):
            raise UserError(f"driver_library={shown(self.driver_library)} is not a path")
        self._check_platform()

    @property
    def machine(self) -> GpuDescription:
        """The description of a GPU of this architecture."""
        return MACHINES[self.arch]

    def _check_platform(self) -> None:
        other = _HARDWARE_ONLY if self.platform == "sim" else _SIMULATOR_ONLY
        for name in other:
            value = getattr(self, name)
            if value != type(self).__dataclass_fields__[name].default:
                raise UserError(f"{name}={value!r} is not for platform '{self.platform}'")

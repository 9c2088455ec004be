# SPDX-License-Identifier: Apache-2.0
"""The options of a GPU, of its simulator, and of code for it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from xtc.core.errors import UserError, shown
from xtc.core.value_checks import one_of, positive, whole
from xtc.interfaces.options import check_left_alone, of_device, of_machine
from xtc_targets.nvgpu.description import GIB, MACHINES, MIB, GpuDescription

Platform = Literal["sim", "hw"]
PLATFORMS = ("sim", "hw")
SCHEDULES = ("sequential", "shuffled")
_HARDWARE_ONLY = ("device_index", "driver_library")
_SIMULATOR_ONLY = (
    *("sim_schedule", "sim_races", "sim_banks", "sim_cores"),
    *("seed", "memory_bytes"),
)
MAX_SMS = 4096
"""More than any GPU has."""

MAX_CORES = 64
"""`GPU_MAX_WORKERS` of `csrc/gpu_block.h`."""


@dataclass(frozen=True)
class NvgpuOptions:
    """Options of a GPU and of code for it.

    Attributes:
        platform: "sim" for the simulator of this project, "hw" for a GPU of this machine.
        arch: architecture that code is compiled for: "sm_80", "sm_86", "sm_89" or "sm_90a".
        device_index: index of the GPU among those that the driver lists, for "hw".
        driver_library: file name or path of NVIDIA's driver library, for "hw".
        sim_schedule: "sequential" runs blocks and threads in the order of their numbers, "shuffled"
            in a random order, which exposes races. This option and the next five apply to platform
            "sim" only.
        sim_races: whether conflicting accesses without a barrier between them are faults, whatever
            the order of execution: between threads of a block and between blocks. Needs 16 bytes
            for each byte that a kernel accesses.
        sim_banks: whether to count bank conflicts in shared memory, and the instructions and
            sectors of accesses to global memory. Kernels take up to twice as long.
        sim_cores: number of cores that run the blocks of a launch in parallel, 1 to 64; None for
            all cores that this process may use. Results, counts and faults are the same. Blocks run
            one after another with "shuffled" or `sim_races`, in clusters, and if a kernel has
            atomic instructions on global memory or waits for other blocks.
        seed: seed of the random order; the same seed gives the same order.
        memory_bytes: size of the simulated global memory.
        timeout_s: time limit of a kernel, in seconds. The simulator stops the kernel. A GPU cannot
            be stopped: the device is lost, and runs the kernel until this process ends.
        sms: multiprocessors among which kernels divide their work; None for those of the
            architecture's board in `description.py`. `first_gpu` asks the driver.
        block_threads: threads per block, if a kernel has that many.
        opt_level: optimization level, 0 to 3.
        tf32: whether float32 contractions may round their operands to TF32 (10 bits of mantissa),
            for tensor cores.
        bulk_pipelines: whether a loop of copies and dots in a tile kernel, or a graph's
            contraction, may become a pipeline of bulk copies and warpgroups, on sm_90a.
        cubins: architectures, such as "sm_86", to assemble the PTX for, with NVIDIA's assembler,
            for "hw". "auto" is `arch` if the assembler is found, and "none" otherwise: the GPU's
            driver then compiles the PTX when it loads the module.
    """

    platform: Platform = of_machine("sim")
    arch: str = of_machine("sm_90a")
    device_index: int = of_device(0)
    driver_library: Path | str = of_device("libcuda.so.1")
    sim_schedule: Literal["sequential", "shuffled"] = of_device("sequential")
    sim_races: bool = of_device(False)
    sim_banks: bool = of_device(False)
    sim_cores: int | None = of_device(None)
    seed: int = of_device(0)
    memory_bytes: int = of_device(GIB)
    timeout_s: float = of_device(60.0)
    sms: int | None = None
    block_threads: int = 256
    opt_level: int = 3
    tf32: bool = False
    bulk_pipelines: bool = True
    cubins: Literal["auto", "none"] | tuple[str, ...] = "auto"

    def __post_init__(self) -> None:
        one_of("platform", self.platform, PLATFORMS)
        one_of("arch", self.arch, tuple(MACHINES))
        one_of("sim_schedule", self.sim_schedule, SCHEDULES)
        for name in ("sim_races", "sim_banks"):
            if not isinstance(value := getattr(self, name), bool):
                raise UserError(f"{name}={shown(value)} is neither True nor False")
        if self.sim_cores is not None:
            whole("sim_cores", self.sim_cores, 1, MAX_CORES)
        whole("device_index", self.device_index, 0, 255)
        whole("seed", self.seed, 0, 2**64 - 1)
        whole("memory_bytes", self.memory_bytes, MIB, self.machine.memory_bytes)
        if self.memory_bytes % MIB:
            raise UserError(f"memory_bytes={self.memory_bytes} is not a multiple of {MIB}")
        positive("timeout_s", self.timeout_s)
        if not isinstance(self.driver_library, str | Path) or not str(self.driver_library):
            raise UserError(f"driver_library={shown(self.driver_library)} is not a path")
        if self.sms is not None:
            whole("sms", self.sms, 1, MAX_SMS)
        whole("block_threads", self.block_threads, 1, self.machine.max_block_threads)
        whole("opt_level", self.opt_level, 0, 3)
        other = _HARDWARE_ONLY if self.platform == "sim" else _SIMULATOR_ONLY
        check_left_alone(self, other, self.platform)
        self._check_cubins()

    @property
    def machine(self) -> GpuDescription:
        """The description of a GPU of this architecture."""
        machine = MACHINES[self.arch]
        return machine if self.sms is None else replace(machine, sms=self.sms)

    def _check_cubins(self) -> None:
        if self.cubins in ("auto", "none"):
            return
        if self.platform != "hw":
            raise UserError(f"cubins={shown(self.cubins)} is not for platform '{self.platform}'")
        for chip in self.cubins:
            if not _CHIP.fullmatch(chip):
                raise UserError(
                    f"cubins={shown(self.cubins)}: {shown(chip)} is not the name of a chip",
                    hints=["chips have names such as 'sm_80' or 'sm_90a'"],
                )
            if chip != self.arch and (
                self.arch.endswith("a") or _number(chip) < _number(self.arch)
            ):
                raise UserError(
                    f"cubins={shown(self.cubins)}: code for {self.arch} does not run on {chip}",
                    hints=["compile for the oldest chip: arch='sm_80'"],
                )


_CHIP = re.compile(r"sm_[1-9][0-9]{1,2}[a-z]?")


def _number(chip: str) -> int:
    return int(re.sub(r"\D", "", chip))

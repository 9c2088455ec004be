# SPDX-License-Identifier: Apache-2.0
"""Which MPPA, how it behaves where that is a simulator's choice, and how code for it is made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from xtc.core import knobs
from xtc.core.errors import DeviceNotFound, UserError, shown
from xtc.core.value_checks import one_of, positive, whole
from xtc.interfaces.options import check_left_alone, of_device, of_machine
from xtc_targets.mppa.description import GIB, MACHINES, MIB, CoolidgeDescription

Platform = Literal["sim", "iss", "qemu", "hw"]
PLATFORMS = ("sim", "iss", "qemu", "hw")
SCHEDULES = ("sequential", "shuffled")
DMA_MODES = ("synchronous", "deferred")
CODEGENS = ("llvm", "c")
MAX_DDR_BYTES = 64 * GIB
_SIMULATOR_ONLY = (
    "pes",
    "trace",
    "sim_schedule",
    "seed",
    "dma_mode",
    "sim_checks",
    "clock_hz",
    "ddr_bytes",
    "timeout_s",
)


@dataclass(frozen=True)
class MppaOptions:
    """Options of an MPPA and of code for it.

    Attributes:
        platform: "sim" is the simulator of this project. "iss", "qemu" and "hw" need Kalray's
            toolchain, whose compiler makes the code, and are experimental.
        arch: version of the machine, "kv3-1" or "kv3-2".
        work_dir: folder for traces and what the vendor's tools write; None is a temporary folder
            of this process.
        firmware: file name of the vendor's firmware, for the platforms that load one.
        toolchain_dir: where the toolchain is; None is the knob KALRAY_TOOLCHAIN_DIR.
        clusters: clusters that run a kernel; None is all that the machine has.
        pes: processing elements of each cluster; None is all. This and what follows, up to
            `timeout_s`, is for the simulator of this project alone.
        trace: write modelled times to `<work_dir>/<device>.trace.json`.
        sim_schedule: "sequential" runs PEs and clusters by their numbers, "shuffled" in a random
            order, which exposes races.
        seed: of that order; the same seed gives the same order.
        dma_mode: "synchronous" copies when a transfer starts. "deferred" copies when it is waited
            for, and until then its destination holds poison: a missing wait shows.
        sim_checks: whether device code tells the simulator of each access, and accesses outside of
            their buffer, of what the DMA owns, and of what another PE or cluster writes at the same
            time are faults, in whatever order they run. Several times slower; takes 16 bytes for
            each byte that a kernel touches. Code by way of C tells of its transfers alone.
        clock_hz: clock that modelled times are given for; None is the machine's highest.
        ddr_bytes: size of the simulated main memory.
        timeout_s: seconds that one kernel may take.
        double_buffer: whether transfers of a loop overlap with its computation.
        codegen: what makes the simulator's code: LLVM in this process, or the compiler that XTC_CC
            names from the same C that Kalray's compiler gets.
        opt_level: the optimisation level of either, 0 to 3.
    """

    platform: Platform = of_machine("sim")
    arch: str = of_machine("kv3-2")
    work_dir: Path | str | None = of_device(None)
    firmware: str = of_device("ocl_fw_l1.elf")
    toolchain_dir: Path | str | None = of_device(None)
    clusters: int | None = of_machine(None)
    pes: int | None = of_machine(None)
    trace: bool = of_device(False)
    sim_schedule: Literal["sequential", "shuffled"] = of_device("sequential")
    seed: int = of_device(0)
    dma_mode: Literal["synchronous", "deferred"] = of_device("synchronous")
    sim_checks: bool = of_machine(False)
    clock_hz: float | None = of_device(None)
    ddr_bytes: int = of_device(GIB)
    timeout_s: float = of_device(60.0)
    double_buffer: bool = True
    codegen: Literal["llvm", "c"] = "llvm"
    opt_level: int = 3

    def __post_init__(self) -> None:
        one_of("platform", self.platform, PLATFORMS)
        one_of("arch", self.arch, tuple(MACHINES))
        one_of("codegen", self.codegen, CODEGENS)
        whole("opt_level", self.opt_level, 0, 3)
        self._check_simulator()
        positive("timeout_s", self.timeout_s)
        positive("clock_hz", self.clock_hz, optional=True)
        for name in ("trace", "sim_checks"):
            value = getattr(self, name)
            if not isinstance(value, bool):
                raise UserError(f"{name}={shown(value)} is neither True nor False")
        _check_path("work_dir", self.work_dir)
        _check_path("toolchain_dir", self.toolchain_dir)
        _check_firmware(self.firmware)
        if self.platform != "sim":
            check_left_alone(self, _SIMULATOR_ONLY, self.platform)

    @property
    def machine(self) -> CoolidgeDescription:
        """The description of this version of the machine."""
        return MACHINES[self.arch]

    @property
    def cluster_count(self) -> int:
        """Clusters that run a kernel."""
        return self.machine.clusters if self.clusters is None else self.clusters

    @property
    def pe_count(self) -> int:
        """Processing elements of each of them."""
        return self.machine.pes if self.pes is None else self.pes

    @property
    def clock(self) -> float:
        """Cycles per second that modelled times are given for."""
        return self.machine.clock_hz if self.clock_hz is None else self.clock_hz

    @property
    def by_c(self) -> bool:
        """Whether the code is made by way of C."""
        return self.codegen == "c" or self.platform != "sim"

    def toolchain(self) -> Path:
        """The toolchain's folder. Raises DeviceNotFound where none is named or there."""
        folder = self.toolchain_dir or knobs.KALRAY_TOOLCHAIN_DIR.get()
        name = knobs.KALRAY_TOOLCHAIN_DIR.name
        if folder is None:
            raise DeviceNotFound(
                f"platform '{self.platform}' needs Kalray's toolchain, and {name} is not set",
                hints=[
                    f"set {name} to its folder, or give MppaOptions(toolchain_dir=...)",
                    "platform='sim' needs no toolchain",
                ],
            )
        if not Path(folder).is_dir():
            raise DeviceNotFound(
                f"there is no folder {folder}, where Kalray's toolchain should be",
                hints=[f"set {name}, or toolchain_dir, to the toolchain's folder"],
            )
        return Path(folder)

    def _check_simulator(self) -> None:
        machine = self.machine
        one_of("sim_schedule", self.sim_schedule, SCHEDULES)
        one_of("dma_mode", self.dma_mode, DMA_MODES)
        whole("clusters", self.clusters, 1, machine.clusters, optional=True)
        whole("pes", self.pes, 1, machine.pes, optional=True)
        whole("seed", self.seed, 0, 2**64 - 1)
        whole("ddr_bytes", self.ddr_bytes, MIB, MAX_DDR_BYTES)
        if self.ddr_bytes % MIB:
            raise UserError(f"ddr_bytes={self.ddr_bytes} is not a multiple of {MIB}")


def _check_path(name: str, value: object) -> None:
    if value is not None and not isinstance(value, str | Path):
        raise UserError(f"{name}={shown(value)} is not a path")


def _check_firmware(name: object) -> None:
    if not isinstance(name, str) or not name or Path(name).name != name:
        raise UserError(f"firmware={shown(name)} is not the name of a file")

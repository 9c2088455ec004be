# SPDX-License-Identifier: Apache-2.0
"""The options of an MPPA device, of its simulator, and of code for it."""

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
        platform: "sim" is the simulator of this project. "iss", "qemu" and "hw" are experimental:
            they compile and run code with Kalray's toolchain.
        arch: version of the architecture, "kv3-1" or "kv3-2".
        work_dir: folder for traces and for files of the vendor's tools; None for a temporary
            folder.
        firmware: file name of the vendor's firmware, for the platforms that load one.
        toolchain_dir: folder of the toolchain; None for the value of KALRAY_TOOLCHAIN_DIR.
        clusters: number of clusters that run a kernel; None for all.
        pes: number of processing elements per cluster; None for all. This option and those up to
            `timeout_s` apply to platform "sim" only.
        trace: whether to write modelled times to `<work_dir>/<device>.trace.json`.
        sim_schedule: "sequential" runs PEs and clusters in the order of their numbers, "shuffled"
            in a random order, which exposes races.
        seed: seed of the random order; the same seed gives the same order.
        dma_mode: "synchronous" copies when a transfer starts. "deferred" copies when the transfer
            is awaited and poisons the destination until then, which exposes missing waits.
        sim_checks: whether device code reports each access to the simulator. An access outside of
            its buffer, to memory that a transfer is using, or to memory that another PE or cluster
            writes at the same time is then a fault, whatever the order of execution. Several times
            slower; needs 16 bytes for each byte that a kernel accesses.
        clock_hz: clock frequency for modelled times; None for the machine's highest.
        ddr_bytes: size of the simulated main memory.
        timeout_s: time limit of a kernel, in seconds.
        double_buffer: whether the transfers of a loop overlap with its computation.
        codegen: code generator for the simulator: "llvm" in this process, or "c" for the compiler
            named by XTC_CC, which gets the same C as Kalray's compiler.
        opt_level: optimization level of the code generator, 0 to 3.
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
        """Processing elements of each cluster."""
        return self.machine.pes if self.pes is None else self.pes

    @property
    def clock(self) -> float:
        """Clock frequency for modelled times, in Hz."""
        return self.machine.clock_hz if self.clock_hz is None else self.clock_hz

    @property
    def by_c(self) -> bool:
        """Whether code is generated through C."""
        return self.codegen == "c" or self.platform != "sim"

    def toolchain(self) -> Path:
        """The toolchain's folder. Raises DeviceNotFound if it is not set or does not exist."""
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

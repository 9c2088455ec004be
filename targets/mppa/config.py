# SPDX-License-Identifier: Apache-2.0
"""How an MPPA is opened."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from xtc.core import knobs
from xtc.core.checks import one_of, positive, whole
from xtc.core.errors import DeviceNotFound, UserError, shown
from xtc_targets.mppa.description import GIB, MACHINES, MIB, CoolidgeDescription

Platform = Literal["sim", "iss", "qemu", "hw"]
PLATFORMS = ("sim", "iss", "qemu", "hw")
SCHEDULES = ("sequential", "shuffled")
DMA_MODES = ("synchronous", "deferred")
MAX_DDR_BYTES = 64 * GIB
_SIMULATOR_ONLY = (
    "pes",
    "trace",
    "sim_schedule",
    "seed",
    "dma_mode",
    "clock_hz",
    "ddr_bytes",
    "timeout_s",
)


@dataclass(frozen=True)
class MppaConfig:
    """Which MPPA, and how it behaves where that is a simulator's choice.

    Attributes:
        platform: "sim" is the simulator of this project. "iss", "qemu" and "hw" need Kalray's
            toolchain, and are experimental.
        arch: version of the machine, "kv3-1" or "kv3-2".
        work_dir: folder for traces and what the vendor's tools write; None is a temporary folder
            of this process.
        firmware: file name of the vendor's firmware, for the platforms that load one.
        toolchain_dir: where the toolchain is; None is the knob KALRAY_TOOLCHAIN_DIR.
        clusters: clusters that run a kernel; None is all that the machine has.
        pes: processing elements of each cluster; None is all. This and what follows is for the
            simulator of this project alone.
        trace: write modelled times to `<work_dir>/<device>.trace.json`.
        sim_schedule: "sequential" runs PEs and clusters by their numbers, "shuffled" in a random
            order, which exposes races.
        seed: of that order; the same seed gives the same order.
        dma_mode: "synchronous" copies when a transfer starts. "deferred" copies when it is waited
            for, and until then its destination holds poison: a missing wait shows.
        clock_hz: clock that modelled times are given for; None is the machine's highest.
        ddr_bytes: size of the simulated main memory.
        timeout_s: seconds that one kernel may take.
    """

    platform: Platform = "sim"
    arch: str = "kv3-2"
    work_dir: Path | str | None = None
    firmware: str = "ocl_fw_l1.elf"
    toolchain_dir: Path | str | None = None
    clusters: int | None = None
    pes: int | None = None
    trace: bool = False
    sim_schedule: Literal["sequential", "shuffled"] = "sequential"
    seed: int = 0
    dma_mode: Literal["synchronous", "deferred"] = "synchronous"
    clock_hz: float | None = None
    ddr_bytes: int = GIB
    timeout_s: float = 60.0

    def __post_init__(self) -> None:
        one_of("platform", self.platform, PLATFORMS)
        one_of("arch", self.arch, tuple(MACHINES))
        one_of("sim_schedule", self.sim_schedule, SCHEDULES)
        one_of("dma_mode", self.dma_mode, DMA_MODES)
        machine = self.machine
        whole("clusters", self.clusters, 1, machine.clusters, optional=True)
        whole("pes", self.pes, 1, machine.pes, optional=True)
        whole("seed", self.seed, 0, 2**64 - 1)
        whole("ddr_bytes", self.ddr_bytes, MIB, MAX_DDR_BYTES)
        if self.ddr_bytes % MIB:
            raise UserError(f"ddr_bytes={self.ddr_bytes} is not a multiple of {MIB}")
        positive("timeout_s", self.timeout_s)
        positive("clock_hz", self.clock_hz, optional=True)
        if not isinstance(self.trace, bool):
            raise UserError(f"trace={shown(self.trace)} is neither True nor False")
        _path("work_dir", self.work_dir)
        _path("toolchain_dir", self.toolchain_dir)
        _check_firmware(self.firmware)
        self._check_simulator_only()

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

    def toolchain(self) -> Path:
        """The toolchain's folder. Raises DeviceNotFound where none is named or there."""
        folder = self.toolchain_dir or knobs.KALRAY_TOOLCHAIN_DIR.get()
        name = knobs.KALRAY_TOOLCHAIN_DIR.name
        if folder is None:
            raise DeviceNotFound(
                f"platform '{self.platform}' needs Kalray's toolchain, and {name} is not set",
                hints=[
                    f"set {name} to its folder, or give MppaConfig(toolchain_dir=...)",
                    "platform='sim' needs no toolchain",
                ],
            )
        if not Path(folder).is_dir():
            raise DeviceNotFound(
                f"there is no folder {folder}, where Kalray's toolchain should be",
                hints=[f"set {name}, or toolchain_dir, to the toolchain's folder"],
            )
        return Path(folder)

    def _check_simulator_only(self) -> None:
        if self.platform == "sim":
            return
        for name in _SIMULATOR_ONLY:
            value = getattr(self, name)
            if value != type(self).__dataclass_fields__[name].default:
                raise UserError(
                    f"{name}={value!r} is for the simulator, not for platform '{self.platform}'"
                )


def _path(name: str, value: object) -> None:
    if value is not None and not isinstance(value, str | Path):
        raise UserError(f"{name}={shown(value)} is not a path")


def _check_firmware(name: object) -> None:
    if not isinstance(name, str) or not name or Path(name).name != name:
        raise UserError(f"firmware={shown(name)} is not the name of a file")

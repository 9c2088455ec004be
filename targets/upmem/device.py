# SPDX-License-Identifier: Apache-2.0
"""The runtime: a set of DPUs, simulated or of the vendor's hardware."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Mapping
from ctypes import c_char_p, c_uint32, c_uint64
from pathlib import Path
from typing import ClassVar

from xtc.core.errors import ArtifactError, DeviceNotFound, ToolError, UserError
from xtc.core.numbering import Numbering
from xtc.runtime import DriverDevice, OpenDevice, built_driver
from xtc_targets.upmem.description import DpuDescription, profile_named
from xtc_targets.upmem.dpu_fifo import Fifo
from xtc_targets.upmem.dpu_set import DpuSet
from xtc_targets.upmem.options import UpmemOptions
from xtc_targets.upmem.toolchain.clang import unavailable
from xtc_targets.upmem.toolchain.library import driver_units, vendor_driver_unit
from xtc_targets.upmem.toolchain.vendor import VendorKit

_numbers = Numbering()


class _Config(ctypes.Structure):
    """`upmem_config` of `csrc/driver_upmem.c`."""

    _fields_ = (("nbytes", c_uint64), ("dpus", c_uint32), ("profile", c_char_p))


class UpmemDevice(DriverDevice):
    """A set of DPUs that share the work of a graph, opened at its first use.

    Args:
        nr_dpus: number of DPUs, in ranks of 64.
        profile: version of the chip, `v1A` or `v1B`.
        platform: `sim`, or `hw` with the vendor's SDK.
        tasklets: number of tasklets of compiled kernels.
    """

    moves_shards: ClassVar[bool] = True

    def __init__(
        self,
        nr_dpus: int = 1,
        profile: str = "v1B",
        platform: str = "sim",
        *,
        tasklets: int = 16,
    ) -> None:
        self.options: UpmemOptions = UpmemOptions(
            nr_dpus=nr_dpus, tasklets=tasklets, profile=profile, platform=platform
        )
        self.nr_dpus, self.profile, self.tasklets = nr_dpus, profile, tasklets
        self.platform = platform
        self._program: DpuSet | None = None
        super().__init__("upmem", _numbers)

    @property
    def machine(self) -> DpuDescription:
        """The description of each DPU."""
        return profile_named(self.profile)

    @property
    def device_arch(self) -> str:
        return self.profile

    @property
    def is_modelled(self) -> bool:
        return self.platform == "sim"

    @classmethod
    def detect_accelerator(cls) -> str | None:
        if sys.platform != "linux":
            return f"the simulator runs on Linux, not on {sys.platform}"
        return unavailable()

    def counters(self) -> Mapping[str, float]:
        """Counts of this device; those that begin with `modelled.` are computed from a model."""
        found = dict(super().counters())
        seconds = found.pop("modelled.upmem.NANOSECONDS") * 1e-9
        return {**found, "modelled.upmem.SECONDS": seconds}

    def modelled_figures(self) -> Mapping[str, float]:
        """Modelled cycles of all launches, and seconds of launches and transfers in sequence."""
        counters = self.counters()
        return {name: counters[f"modelled.{name}"] for name in ("upmem.CYCLES", "upmem.SECONDS")}

    def peak_flops(self, dtype: str) -> float:
        """0: no peak is known, because float arithmetic is done by software routines."""
        return 0.0

    def check_code(self, toolchain: Mapping[str, str]) -> None:
        here = {
            "nr_dpus": str(self.nr_dpus),
            "profile": self.profile,
            "platform": self.platform,
        }
        for name, value in here.items():
            if toolchain.get(name) != value:
                raise ArtifactError(
                    f"the code was compiled for {name} {toolchain.get(name)}, "
                    f"and {self.device_name} has {value}"
                )

    def load_program(
        self, binary: str | Path | None = None, *, c_source: str | Path | None = None
    ) -> DpuSet:
        """Load a C program on a separate set of DPUs of the same size; `fifo` refers to the last
        one.

        Raises DpuError with the library's code, and ToolError if the C does not compile.
        """
        if self._program is not None:
            self._program.free()
        self._program = DpuSet(
            self.nr_dpus,
            profile=self.profile,
            binary=binary,
            c_source=c_source,
            tasklets=self.tasklets,
        )
        return self._program

    def fifo(self, name: str) -> Fifo:
        """The host's end of a FIFO of the loaded program. Raises UserError without a program."""
        if self._program is None:
            raise UserError(
                f"{self.device_name} has no program with FIFOs", hints=["load_program loads one"]
            )
        return self._program.fifo(name)

    def deinit_device(self) -> None:
        if self._program is not None:
            self._program.free()
            self._program = None
        super().deinit_device()

    def _connect(self, name: str) -> OpenDevice:
        if self.platform == "hw":
            return self._connect_hardware(name)
        if sys.platform != "linux":
            raise DeviceNotFound(f"the simulator runs on Linux, not on {sys.platform}")
        _, driver = built_driver(*driver_units())
        config = _Config(ctypes.sizeof(_Config), self.nr_dpus, f"chip={self.profile}".encode())
        return OpenDevice(driver, config, name)

    def _connect_hardware(self, name: str) -> OpenDevice:
        """The same driver on the vendor's library. Raises DeviceNotFound if a part is missing."""
        try:
            unit = vendor_driver_unit(VendorKit.found())
        except ToolError as error:
            raise DeviceNotFound(error.what, notes=error.notes, hints=error.hints) from error
        _, driver = built_driver(unit)
        config = _Config(ctypes.sizeof(_Config), self.nr_dpus, b"backend=hw")
        return OpenDevice(driver, config, name)

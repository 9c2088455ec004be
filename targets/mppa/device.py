# SPDX-License-Identifier: Apache-2.0
"""The runtime of an MPPA: simulated here, or reached through Kalray's tools."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from xtc.core.errors import ArtifactError, UserError
from xtc.core.numbering import Numbering
from xtc.core.types import element_type
from xtc.runtime import DriverDevice, OpenDevice
from xtc.system.workspace import private_folder
from xtc_targets.mppa.counters import MppaCounters
from xtc_targets.mppa.description import CoolidgeDescription
from xtc_targets.mppa.options import MppaOptions
from xtc_targets.mppa.simulator import open_simulator, unavailable
from xtc_targets.mppa.vendor import open_vendor

_numbers = Numbering()


class MppaDevice(DriverDevice):
    """An MPPA, opened at its first use; instances are independent.

    Args:
        options: the options of the device, of its simulator, and of code for it.
        machine: a hypothetical machine to simulate, such as a copy of a description with more SMEM
            (`dataclasses.replace`).
    """

    def __init__(
        self, options: MppaOptions | None = None, *, machine: CoolidgeDescription | None = None
    ) -> None:
        self.options: MppaOptions = options or MppaOptions()
        if not isinstance(self.options, MppaOptions):
            raise UserError(f"an MppaDevice takes MppaOptions, not {options!r}")
        self.machine = machine or self.options.machine
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        super().__init__("mppa", _numbers)

    @property
    def device_arch(self) -> str:
        return self.machine.arch

    @property
    def is_modelled(self) -> bool:
        return self.options.platform != "hw"

    @property
    def trace_file(self) -> Path | None:
        """The trace of modelled times for Perfetto and browsers; None unless enabled."""
        return self._work_dir() / f"{self.device_name}.trace.json" if self.options.trace else None

    @classmethod
    def detect_accelerator(cls) -> str | None:
        return unavailable()

    def check_code(self, toolchain: Mapping[str, str]) -> None:
        machine = {
            "arch": self.machine.arch,
            "clusters": str(self.options.cluster_count),
            "pes": str(self.options.pe_count),
        }
        for name, here in machine.items():
            built = toolchain.get(name)
            if built != here:
                raise ArtifactError(
                    f"the code was compiled for {name} {built}, and {self.device_name} has {here}"
                )

    def adversarial_simulator(self) -> MppaDevice | None:
        if self.options.platform != "sim":
            return None
        options = replace(
            self.options,
            sim_schedule="shuffled",
            dma_mode="deferred",
            sim_checks=True,
            seed=self.options.seed + 1,
            trace=False,
        )
        return MppaDevice(options, machine=self.machine)

    def counters(self) -> MppaCounters:
        return MppaCounters(self.opened().counters(), self.options.clock)

    def modelled_figures(self) -> Mapping[str, float]:
        """Modelled cycles and seconds of all clusters together."""
        counters = self.counters()
        return {name: counters[f"modelled.{name}"] for name in ("mppa.CYCLES", "mppa.SECONDS")}

    def peak_flops(self, dtype: str) -> float:
        clusters, pes = self.options.cluster_count, self.options.pe_count
        rate = self.machine.rate(element_type(dtype).name)
        return 2 * rate * clusters * pes * self.options.clock

    def _connect(self, name: str) -> OpenDevice:
        if self.options.platform == "sim":
            return open_simulator(self.options, self.machine, name, self.trace_file)
        return open_vendor(self.options, self.machine, name, self._work_dir())

    def _work_dir(self) -> Path:
        if self.options.work_dir is not None:
            return Path(self.options.work_dir)
        if self._folder is None:
            self._folder = private_folder("mppa-")
        return Path(self._folder.name)

# SPDX-License-Identifier: Apache-2.0
"""The runtime of a simulated wafer, which runs one program and has its size."""

from __future__ import annotations

from collections.abc import Mapping

from xtc.core.errors import ArtifactError
from xtc.core.numbering import Numbering
from xtc.interfaces.runtime import AcceleratorDevice
from xtc.runtime import DriverDevice, OpenDevice
from xtc_targets.wse.options import WseOptions
from xtc_targets.wse.simulator import open_simulator, unavailable

_numbers = Numbering()


class WseDevice(DriverDevice, AcceleratorDevice):
    """A simulated wafer, opened on first use; instances are independent.

    Args:
        options: options of the wafer and of its simulator.
    """

    def __init__(self, options: WseOptions | None = None) -> None:
        self.options: WseOptions = options or WseOptions()
        super().__init__("wse", _numbers)

    @property
    def device_arch(self) -> str:
        return self.options.arch

    @property
    def is_modelled(self) -> bool:
        return True

    @classmethod
    def detect_accelerator(cls) -> str | None:
        return unavailable()

    def check_code(self, toolchain: Mapping[str, str]) -> None:
        if toolchain.get("arch") != self.options.arch:
            raise ArtifactError(
                f"the code was compiled for {toolchain.get('arch')}, but {self.device_name} is a "
                f"{self.options.arch}"
            )

    def counters(self) -> Mapping[str, float]:
        """Exact counts, and modelled cycles."""
        return {name: float(count) for name, count in self.opened().counters().items()}

    def peak_flops(self, dtype: str) -> float:
        return 0.0

    def _connect(self, name: str) -> OpenDevice:
        return open_simulator(self.options, name)

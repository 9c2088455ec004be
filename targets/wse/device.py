# SPDX-License-Identifier: Apache-2.0
"""The runtime of a simulated wafer: it runs one program, which decides how large it is."""

from __future__ import annotations

from collections.abc import Mapping

from xtc.core.errors import ArtifactError, UserError
from xtc.core.numbering import Numbering
from xtc.interfaces.runtime import AcceleratorDevice
from xtc.runtime import DriverDevice, OpenDevice
from xtc_targets.wse.config import WseConfig
from xtc_targets.wse.description import ARCHITECTURES, DEFAULT
from xtc_targets.wse.simulator import open_simulator, unavailable

_numbers = Numbering()


class WseDevice(DriverDevice, AcceleratorDevice):
    """A simulated wafer, opened at its first use; instances are independent.

    Args:
        config: how it behaves.
        arch: of the programs it runs, wse2 or wse3.
    """

    def __init__(self, config: WseConfig | None = None, arch: str = DEFAULT.name) -> None:
        self.config = config or WseConfig()
        if arch not in ARCHITECTURES:
            raise UserError(f"there is no architecture {arch!r}", hints=["wse2 and wse3 are known"])
        self.arch = arch
        super().__init__("wse", _numbers)

    @property
    def device_arch(self) -> str:
        return self.arch

    @property
    def is_modelled(self) -> bool:
        return True

    @classmethod
    def detect_accelerator(cls) -> str | None:
        return unavailable()

    def check_code(self, toolchain: Mapping[str, str]) -> None:
        if toolchain.get("arch") != self.arch:
            raise ArtifactError(
                f"the code was compiled for {toolchain.get('arch')}, and {self.device_name} is a "
                f"{self.arch}"
            )

    def counters(self) -> Mapping[str, float]:
        """Exact counts, and modelled cycles."""
        return {name: float(count) for name, count in self.opened().counters().items()}

    def peak_flops(self, dtype: str) -> float:
        return 0.0

    def _connect(self, name: str) -> OpenDevice:
        return open_simulator(self.config, name)

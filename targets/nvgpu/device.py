# SPDX-License-Identifier: Apache-2.0
"""The runtime of a GPU: simulated here, or reached through NVIDIA's driver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from xtc.core.errors import ArtifactError, UserError
from xtc.core.numbering import Numbering
from xtc.core.types import element_type
from xtc.runtime import DeviceArray, DriverDevice, OpenDevice
from xtc_targets.nvgpu.arrays import GpuArray, borrowed
from xtc_targets.nvgpu.config import NvgpuConfig
from xtc_targets.nvgpu.counters import NvgpuCounters
from xtc_targets.nvgpu.description import GpuDescription
from xtc_targets.nvgpu.hardware import open_hardware
from xtc_targets.nvgpu.simulator import open_simulator, unavailable

_numbers = Numbering()


class NvgpuDevice(DriverDevice):
    """A GPU, opened at its first use; instances are independent.

    Args:
        config: which one, and how a simulator behaves.
        machine: the GPU to simulate where it is not one that is described, such as a copy of a
            description with less shared memory (`dataclasses.replace`).
    """

    array_type: ClassVar[type[GpuArray]] = GpuArray

    def __init__(
        self, config: NvgpuConfig | None = None, *, machine: GpuDescription | None = None
    ) -> None:
        self.config = config or NvgpuConfig()
        if not isinstance(self.config, NvgpuConfig):
            raise UserError(f"an NvgpuDevice takes an NvgpuConfig, not {config!r}")
        self.machine = machine or self.config.machine
        super().__init__("nvgpu", _numbers)

    @property
    def device_arch(self) -> str:
        return self.machine.arch

    @property
    def is_modelled(self) -> bool:
        return self.config.platform != "hw"

    @classmethod
    def detect_accelerator(cls) -> str | None:
        return unavailable()

    def check_code(self, toolchain: Mapping[str, str]) -> None:
        here = {"arch": self.machine.arch, "platform": self.config.platform}
        for name, value in here.items():
            built = toolchain.get(name)
            if built != value:
                raise ArtifactError(
                    f"the code was compiled for {name} {built}, and {self.device_name} has {value}"
                )

    def counters(self) -> NvgpuCounters:
        return NvgpuCounters(self.opened().counters(), self.machine)

    def peak_flops(self, dtype: str) -> float:
        return 2 * self.machine.peak_macs_per_second(element_type(dtype).name)

    def borrowed(self, value: object) -> DeviceArray | None:
        return borrowed(self, value, simulated=self.is_modelled)

    def _connect(self, name: str) -> OpenDevice:
        if self.config.platform == "hw":
            return open_hardware(self.config, name)
        return open_simulator(self.config, self.machine, name)

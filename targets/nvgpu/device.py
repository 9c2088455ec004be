# SPDX-License-Identifier: Apache-2.0
"""The runtime of a GPU: the simulator, or a GPU behind NVIDIA's driver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from xtc.core.errors import ArtifactError, UserError
from xtc.core.numbering import Numbering
from xtc.core.types import element_type
from xtc.runtime import DeviceArray, DriverDevice, OpenDevice
from xtc_targets.nvgpu.callers import current_stream, streams_of
from xtc_targets.nvgpu.counters import NvgpuCounters
from xtc_targets.nvgpu.description import GpuDescription
from xtc_targets.nvgpu.gpu_array import GpuArray, borrowed
from xtc_targets.nvgpu.hardware import chip_name, open_hardware
from xtc_targets.nvgpu.options import NvgpuOptions
from xtc_targets.nvgpu.simulator import open_simulator, unavailable

_numbers = Numbering()


class NvgpuDevice(DriverDevice):
    """A GPU, opened at first use; instances are independent.

    Args:
        options: the options of the GPU, of its simulator, and of code for it.
        machine: a hypothetical GPU to simulate, such as a copy of a description with less shared
            memory (`dataclasses.replace`).
    """

    array_type: ClassVar[type[GpuArray]] = GpuArray

    def __init__(
        self, options: NvgpuOptions | None = None, *, machine: GpuDescription | None = None
    ) -> None:
        self.options: NvgpuOptions = options or NvgpuOptions()
        if not isinstance(self.options, NvgpuOptions):
            raise UserError(f"an NvgpuDevice takes NvgpuOptions, not {options!r}")
        self.machine = machine or self.options.machine
        super().__init__("nvgpu", _numbers)

    @property
    def device_arch(self) -> str:
        return self.machine.arch

    @property
    def is_modelled(self) -> bool:
        return self.options.platform != "hw"

    @classmethod
    def detect_accelerator(cls) -> str | None:
        return unavailable()

    def check_code(self, toolchain: Mapping[str, str]) -> None:
        here = {"arch": self.machine.arch, "platform": self.options.platform}
        for name, value in here.items():
            built = toolchain.get(name)
            if built != value:
                raise ArtifactError(
                    f"the code was compiled for {name} {built}, and {self.device_name} has {value}"
                )

    def adversarial_simulator(self) -> NvgpuDevice | None:
        if self.options.platform != "sim":
            return None
        seed = self.options.seed + 1
        options = replace(self.options, sim_schedule="shuffled", sim_races=True, seed=seed)
        return NvgpuDevice(options, machine=self.machine)

    def counters(self) -> NvgpuCounters:
        return NvgpuCounters(self.opened().counters(), self.machine)

    def peak_flops(self, dtype: str) -> float:
        return 2 * self.machine.peak_macs_per_second(element_type(dtype).name)

    def memory_bandwidth(self) -> float:
        """The memory bandwidth in the description of the GPU that code is compiled for."""
        return self.machine.memory_bytes_per_second

    def borrowed(self, value: object, stream: int | None = None) -> DeviceArray | None:
        return borrowed(self, value, self.is_modelled, stream)

    @property
    def device_chip(self) -> str:
        """The GPU's name from its driver; for the simulator, the architecture of the code."""
        if self.is_modelled:
            return self.device_arch
        return chip_name(self.options.device_index, self.options.driver_library)

    def callers_streams(self, arrays: Sequence[Any]) -> Sequence[int]:
        return () if self.is_modelled else streams_of(arrays)

    def current_stream(self) -> int:
        return 0 if self.is_modelled else current_stream()

    def _connect(self, name: str) -> OpenDevice:
        if self.options.platform == "hw":
            return open_hardware(self.options, name)
        return open_simulator(self.options, self.machine, name)

# SPDX-License-Identifier: Apache-2.0
"""NVIDIA GPUs, simulated unless configured otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from xtc.core.versions import toolchain_versions
from xtc.interfaces.target import AcceleratorTarget
from xtc.interfaces.tile_support import TileSupport
from xtc.ir.pipeline import Pipeline
from xtc_targets.nvgpu.options import NvgpuOptions

if TYPE_CHECKING:
    from xtc.ir.mlir import Operation
    from xtc_targets.nvgpu.device import NvgpuDevice

__all__ = ["TARGET", "NvgpuConfig", "NvgpuDevice", "NvgpuOptions", "NvgpuTarget"]

NvgpuConfig = NvgpuOptions
"""The options, under the name that programs use: `NvgpuDevice(NvgpuConfig("hw"))`."""


class NvgpuTarget(AcceleratorTarget):
    """Compiles kernels for grids of threads."""

    name: ClassVar[str] = "nvgpu"
    Options: ClassVar[type[NvgpuOptions]] = NvgpuOptions
    parallel_levels: ClassVar[int] = 2

    def pipeline(self, options: NvgpuOptions) -> Pipeline:
        from xtc_targets.nvgpu.pipeline import nvgpu_pipeline  # loads MLIR

        return nvgpu_pipeline(options)

    def tiles(self, options: NvgpuOptions) -> TileSupport:
        from xtc_targets.nvgpu.tile_support import tile_support

        return tile_support(options)

    def options_holding(self, array: Any) -> NvgpuOptions | None:
        from xtc_targets.nvgpu.callers import options_holding

        return options_holding(array)

    def options_in_use(self) -> NvgpuOptions | None:
        from xtc_targets.nvgpu.callers import options_in_use

        return options_in_use()

    def roundoff(self, options: NvgpuOptions) -> float:
        return 2.0**-11 if options.tf32 else 0.0

    def build_image(
        self, lowered: Operation, options: NvgpuOptions, folder: Path, stem: str
    ) -> str:
        from xtc_targets.nvgpu.build import build_image

        return build_image(lowered, options, folder, stem)

    def image_text(self, lowered: Operation, options: NvgpuOptions) -> str:
        from xtc_targets.nvgpu.build import code

        return code(lowered, options, self.name)

    def toolchain(self, options: NvgpuOptions) -> Mapping[str, str]:
        from xtc_targets.nvgpu.build import toolchain

        return {**toolchain_versions(), **toolchain(options)}

    def runtime(self, options: NvgpuOptions) -> NvgpuDevice:
        from xtc_targets.nvgpu.device import NvgpuDevice

        return NvgpuDevice(options)

    def unavailable(self) -> str | None:
        from xtc_targets.nvgpu.device import NvgpuDevice

        return NvgpuDevice.detect_accelerator()


TARGET = NvgpuTarget()


def __getattr__(name: str) -> Any:
    """Import the device at its first use, because it builds and loads code."""
    if name == "NvgpuDevice":
        from xtc_targets.nvgpu.device import NvgpuDevice

        return NvgpuDevice
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

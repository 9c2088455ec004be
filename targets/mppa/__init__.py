# SPDX-License-Identifier: Apache-2.0
"""Kalray's MPPA, simulated unless configured otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from xtc.core.versions import toolchain_versions
from xtc.interfaces.target import AcceleratorTarget
from xtc.ir.pipeline import Pipeline
from xtc_targets.mppa.options import MppaOptions

if TYPE_CHECKING:
    from xtc.ir.mlir import Operation
    from xtc_targets.mppa.device import MppaDevice

__all__ = ["TARGET", "MppaConfig", "MppaDevice", "MppaOptions", "MppaTarget"]

MppaConfig = MppaOptions
"""An alias of the options for programs that open a device: `MppaDevice(MppaConfig(pes=4))`."""


class MppaTarget(AcceleratorTarget):
    """Compiles kernels for clusters of PEs that share a memory."""

    name: ClassVar[str] = "mppa"
    Options: ClassVar[type[MppaOptions]] = MppaOptions

    def pipeline(self, options: MppaOptions) -> Pipeline:
        from xtc_targets.mppa.pipeline import mppa_pipeline  # loads MLIR, so it is imported late

        return mppa_pipeline(options)

    def checked(self, options: MppaOptions) -> MppaOptions:
        return replace(options, sim_checks=options.platform == "sim")

    def build_image(self, lowered: Operation, options: MppaOptions, folder: Path, stem: str) -> str:
        from xtc_targets.mppa.build import build_image

        return build_image(lowered, options, folder, stem)

    def image_text(self, lowered: Operation, options: MppaOptions) -> str:
        from xtc_targets.mppa.build import code

        return code(lowered, options, self.name)

    def toolchain(self, options: MppaOptions) -> Mapping[str, str]:
        from xtc_targets.mppa.build import toolchain

        return {**toolchain_versions(), **toolchain(options)}

    def runtime(self, options: MppaOptions) -> MppaDevice:
        from xtc_targets.mppa.device import MppaDevice

        return MppaDevice(options)

    def unavailable(self) -> str | None:
        from xtc_targets.mppa.device import MppaDevice

        return MppaDevice.detect_accelerator()


TARGET = MppaTarget()


def __getattr__(name: str) -> Any:
    """Import the device on first use: it builds and loads code."""
    if name == "MppaDevice":
        from xtc_targets.mppa.device import MppaDevice

        return MppaDevice
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

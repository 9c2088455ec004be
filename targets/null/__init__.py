# SPDX-License-Identifier: Apache-2.0
"""An accelerator without hardware: the smallest target, as a model for other targets."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from xtc.core.versions import toolchain_versions
from xtc.interfaces.target import AcceleratorTarget
from xtc.ir.pipeline import Pipeline, Step
from xtc_targets.null.options import NullOptions

if TYPE_CHECKING:
    from xtc.ir.mlir import Operation
    from xtc_targets.null.device import NullDevice

__all__ = ["TARGET", "NullDevice", "NullOptions", "NullTarget"]


class NullTarget(AcceleratorTarget):
    """Compiles kernels for this processor, which the device runs one after the other."""

    name: ClassVar[str] = "null"
    Options: ClassVar[type[NullOptions]] = NullOptions
    splits_kernels: ClassVar[bool] = False

    def pipeline(self, options: NullOptions) -> Pipeline:
        from xtc_targets.null.pipeline import null_pipeline  # loads MLIR, so it is imported late

        return null_pipeline()

    def sharding(self, options: NullOptions) -> tuple[Step, ...]:
        if options.memories == 1:
            return ()
        from xtc_targets.null.passes.shard_rows import ShardRows

        return (ShardRows(options.memories),)

    def build_image(self, lowered: Operation, options: NullOptions, folder: Path, stem: str) -> str:
        from xtc_targets.null.build import write_image

        return write_image(lowered, folder, stem)

    def image_text(self, lowered: Operation, options: NullOptions) -> str:
        from xtc_targets.null.build import image_text

        return image_text(lowered)

    def toolchain(self, options: NullOptions) -> Mapping[str, str]:
        from xtc.codegen.llvm import Machine

        machine = Machine.host()
        return {
            **toolchain_versions(),
            "triple": machine.triple,
            "cpu": machine.cpu,
            "features": machine.features,
            "memories": str(options.memories),
        }

    def runtime(self, options: NullOptions) -> NullDevice:
        from xtc_targets.null.device import NullDevice

        return NullDevice(options.memory_bytes, options.memories)

    def unavailable(self) -> str | None:
        from xtc_targets.null.device import NullDevice

        return NullDevice.detect_accelerator()


TARGET = NullTarget()


def __getattr__(name: str) -> Any:
    """Import the device on first use: it builds and loads code."""
    if name == "NullDevice":
        from xtc_targets.null.device import NullDevice

        return NullDevice
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

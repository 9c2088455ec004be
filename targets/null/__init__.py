# SPDX-License-Identifier: Apache-2.0
"""An accelerator without hardware: the smallest target, to be read before writing another one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from xtc.core.errors import UserError
from xtc.core.versions import toolchain_versions
from xtc.interfaces.runtime import CommonRuntimeInterface
from xtc.interfaces.target import AcceleratorTarget
from xtc.ir.pipeline import Pipeline
from xtc_targets.null.description import NULL

if TYPE_CHECKING:
    from xtc.ir.mlir import Operation
    from xtc_targets.null.device import NullDevice

__all__ = ["TARGET", "NullDevice", "NullOptions", "NullTarget"]


@dataclass(frozen=True)
class NullOptions:
    """Options of `xtc.compile(..., target="null")`.

    Attributes:
        memory_bytes: size of the device memory.
    """

    memory_bytes: int = NULL.memory_bytes

    def __post_init__(self) -> None:
        if self.memory_bytes < 1:
            raise UserError(f"memory_bytes={self.memory_bytes} is not 1 or more")


class NullTarget(AcceleratorTarget):
    """Compiles kernels for this processor, which its device runs one after the other."""

    name: ClassVar[str] = "null"
    Options: ClassVar[type[NullOptions]] = NullOptions
    splits_kernels: ClassVar[bool] = False

    def options_for(self, device: CommonRuntimeInterface, given: Mapping[str, Any]) -> NullOptions:
        from xtc_targets.null.device import NullDevice

        if not isinstance(device, NullDevice):
            raise UserError(f"{device.device_name} is no null device")
        options: NullOptions = self.options(**{"memory_bytes": device.memory_bytes, **given})
        if options.memory_bytes != device.memory_bytes:
            raise UserError(
                f"option memory_bytes={options.memory_bytes} does not fit {device.device_name}",
                notes=[f"it has {device.memory_bytes} bytes"],
                hints=["leave the option away: code is compiled for the device"],
            )
        return options

    def pipeline(self, options: NullOptions) -> Pipeline:
        from xtc_targets.null.pipeline import null_pipeline  # loads MLIR, which others need not

        return null_pipeline()

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
        }

    def runtime(self, options: NullOptions) -> NullDevice:
        from xtc_targets.null.device import NullDevice

        return NullDevice(options.memory_bytes)

    def unavailable(self) -> str | None:
        from xtc_targets.null.device import NullDevice

        return NullDevice.detect_accelerator()


TARGET = NullTarget()


def __getattr__(name: str) -> Any:
    """The device is imported when it is asked for: it builds and loads code."""
    if name == "NullDevice":
        from xtc_targets.null.device import NullDevice

        return NullDevice
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

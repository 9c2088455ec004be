# SPDX-License-Identifier: Apache-2.0
"""An accelerator that runs nothing: the smallest target, to be read before writing another one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from xtc.core.errors import UserError
from xtc.core.pipeline import Pipeline
from xtc.core.versions import toolchain_versions
from xtc.interfaces.artifact import Artifact
from xtc.interfaces.target import BuildRequest, Target
from xtc_targets.null.description import NULL
from xtc_targets.null.device import NullDevice

if TYPE_CHECKING:
    from xtc.core.mlir import Operation

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


class NullTarget(Target):
    """Compiles to MLIR text; its device keeps memory and commands, and runs nothing."""

    name: ClassVar[str] = "null"
    Options: ClassVar[type[NullOptions]] = NullOptions

    def pipeline(self, options: NullOptions) -> Pipeline:
        from xtc_targets.null.pipeline import null_pipeline  # loads MLIR, which others need not

        return null_pipeline()

    def build(
        self, lowered: Operation, request: BuildRequest, options: NullOptions, folder: Path
    ) -> Artifact:
        from xtc_targets.null.build import write_artifact

        return write_artifact(lowered, request, self.toolchain(options), folder)

    def code(self, lowered: Operation, request: BuildRequest, options: NullOptions) -> str:
        return str(lowered)

    def toolchain(self, options: NullOptions) -> Mapping[str, str]:
        return toolchain_versions()

    def runtime(self, options: NullOptions) -> NullDevice:
        return NullDevice(options.memory_bytes)

    def unavailable(self) -> str | None:
        return NullDevice.detect_accelerator()


TARGET = NullTarget()

# SPDX-License-Identifier: Apache-2.0
"""Microcontrollers without an operating system, programmed by flashing an image."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from xtc.core.errors import UserError
from xtc.core.versions import toolchain_versions
from xtc.interfaces.artifact import Artifact
from xtc.interfaces.runtime import CommonRuntimeInterface
from xtc.interfaces.target import BuildRequest, ProgramTarget
from xtc.ir.pipeline import Pipeline
from xtc_targets.embedded.options import EmbeddedOptions

if TYPE_CHECKING:
    from xtc.ir.mlir import Operation
    from xtc_targets.embedded.device import EmbeddedBoard

__all__ = ["TARGET", "EmbeddedBoard", "EmbeddedOptions", "EmbeddedTarget"]


class EmbeddedTarget(ProgramTarget):
    """Compiles programs that run alone on a board, or in a simulator."""

    name: ClassVar[str] = "embedded"
    Options: ClassVar[type[EmbeddedOptions]] = EmbeddedOptions

    def pipeline(self, options: EmbeddedOptions) -> Pipeline:
        from xtc_targets.embedded.pipeline import embedded_pipeline  # loads MLIR

        return embedded_pipeline(options.description.core, options.codegen)

    def check_offload(self, options: EmbeddedOptions) -> None:
        raise UserError(
            "a board's program commands no other devices",
            hints=["compile for the host, or place all operators on the board"],
        )

    def options_for(
        self, runtime: CommonRuntimeInterface, given: Mapping[str, Any]
    ) -> EmbeddedOptions:
        from xtc_targets.embedded.device import EmbeddedBoard

        if not isinstance(runtime, EmbeddedBoard):
            raise UserError(f"{runtime.device_name} is no board")
        board = given.get("board", runtime.board)
        if board != runtime.board:
            raise UserError(
                f"option board={board!r} does not fit {runtime.device_name}",
                notes=[f"it is a {runtime.board}"],
                hints=["omit the option: code is compiled for the board"],
            )
        here = {"board": runtime.board, "platform": runtime.platform}
        options: EmbeddedOptions = self.options(**{**given, **here})
        return options

    def build(
        self, lowered: Operation, request: BuildRequest, options: EmbeddedOptions, folder: Path
    ) -> Artifact:
        from xtc_targets.embedded.build import write_artifact

        return write_artifact(lowered, request, options, self.toolchain(options), folder)

    def code(self, lowered: Operation, request: BuildRequest, options: EmbeddedOptions) -> str:
        from xtc_targets.embedded.build import assembly

        return assembly(lowered, request, options)

    def toolchain(self, options: EmbeddedOptions) -> Mapping[str, str]:
        from xtc_targets.embedded import c_sources
        from xtc_targets.embedded.support import version

        board, core = options.description, options.description.core
        return {
            **toolchain_versions(),
            "board": board.name,
            "flash": f"{board.flash.address:#x}+{board.flash.nbytes}",
            "ram": f"{board.ram.address:#x}+{board.ram.nbytes}",
            "stack_bytes": str(options.stack_bytes),
            "triple": core.triple,
            "cpu": core.name,
            "features": core.features,
            "opt_level": str(options.optimization),
            "support": version(),
            "codegen": options.codegen,
            **({"compiler": c_sources.version()} if options.codegen == "c" else {}),
        }

    def runtime(self, options: EmbeddedOptions) -> EmbeddedBoard:
        from xtc_targets.embedded.device import EmbeddedBoard

        return EmbeddedBoard(options.board, options.platform)

    def unavailable(self) -> str | None:
        from xtc_targets.embedded.simulator import unavailable

        return unavailable()


TARGET = EmbeddedTarget()


def __getattr__(name: str) -> Any:
    """Import the board on first use: it loads the simulator."""
    if name == "EmbeddedBoard":
        from xtc_targets.embedded.device import EmbeddedBoard

        return EmbeddedBoard
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

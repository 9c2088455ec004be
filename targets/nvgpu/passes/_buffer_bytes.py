# SPDX-License-Identifier: Apache-2.0
"""Sizes of the buffers of kernels."""

from __future__ import annotations

import math

from xtc.core.errors import CompileError
from xtc.ir.mlir import FloatType, IntegerType, MemRefType, Operation, Type

_WORD_BITS = 64  # of an index


def bytes_of(buffer: Operation) -> int:
    """The size of an allocation in bytes. Raises CompileError if it is unknown."""
    type = MemRefType(buffer.results[0].type)
    if not type.has_static_shape:
        raise CompileError(
            f"the size of a kernel's buffer is unknown: {type}", where=str(buffer.location)
        )
    return int(math.prod(type.shape)) * element_bytes(type.element_type)


def element_bytes(type: Type) -> int:
    """The size of an element in bytes."""
    bits = int(type.width) if isinstance(type, IntegerType | FloatType) else _WORD_BITS
    return max(1, bits // 8)

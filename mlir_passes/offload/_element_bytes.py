# SPDX-License-Identifier: Apache-2.0
"""The size of elements in memory."""

from __future__ import annotations

from xtc.ir.mlir import FloatType, IntegerType, Type


def element_bytes(type: Type) -> int:
    """Bytes of an element in memory; an i1 takes one."""
    bits: int = FloatType(type).width if isinstance(type, FloatType) else IntegerType(type).width
    return -(-bits // 8)

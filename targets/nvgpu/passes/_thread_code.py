# SPDX-License-Identifier: Apache-2.0
"""Builders of a thread's code: special registers, 64-bit numbers and addresses."""

from __future__ import annotations

from collections.abc import Sequence

from xtc.ir.builders.numbers import Number, as_value, constant
from xtc.ir.mlir import (
    DenseElementsAttr,
    FloatAttr,
    InsertionPoint,
    IntegerAttr,
    IntegerType,
    Type,
    Value,
    VectorType,
    arith,
    memref,
)
from xtc.ir.mlir_llvm import llvm
from xtc.ir.mlir_nvvm import nvvm
from xtc_targets.nvgpu.passes._kernels import BLOCK_ID, THREAD_ID

_REGISTERS = {
    BLOCK_ID: nvvm.read_ptx_sreg_ctaid_x,
    THREAD_ID: nvvm.read_ptx_sreg_tid_x,
}


def register(name: str, ip: InsertionPoint | None = None) -> Value:
    """The special register of this name, the position of a block or a thread, as an i32."""
    return _REGISTERS[name](IntegerType.get_signless(32), ip=ip)


def as_i32(number: Number) -> Value:
    """The number as a value of type i32."""
    return as_value(number, type=IntegerType.get_signless(32))


def all_of(conditions: Sequence[Value]) -> Value | bool:
    """Whether all conditions hold; True for an empty sequence."""
    found: Value | bool = True
    for condition in conditions:
        found = condition if found is True else arith.andi(found, condition)
    return found


def wide(number: Number) -> Value:
    """A number zero-extended to 64 bits."""
    i64 = IntegerType.get_signless(64)
    return constant(number, i64) if isinstance(number, int) else arith.extui(i64, number)


def wide_signed(number: Number) -> Value:
    """A number sign-extended to 64 bits."""
    i64 = IntegerType.get_signless(64)
    if isinstance(number, int):
        return constant(number, i64)
    if IntegerType(number.type).width == 64:
        return number
    return arith.extsi(i64, number)


def address_of(buffer: Value, space: int) -> Value:
    """The address of a buffer in this memory space."""
    index = memref.extract_aligned_pointer_as_index(buffer)
    number = arith.index_cast(IntegerType.get_signless(64), index)
    return llvm.inttoptr(Type.parse(f"!llvm.ptr<{space}>"), number)


def zeros(type: VectorType) -> Value:
    """A vector of zeros."""
    element = type.element_type
    zero = (
        IntegerAttr.get(element, 0)
        if isinstance(element, IntegerType)
        else FloatAttr.get(element, 0.0)
    )
    return arith.constant(type, DenseElementsAttr.get_splat(type, zero))

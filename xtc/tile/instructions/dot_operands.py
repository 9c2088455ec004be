# SPDX-License-Identifier: Apache-2.0
"""Checks and converts the operands of the instruction `dot`."""

from __future__ import annotations

from typing import Any

from xtc.core.errors import UserError
from xtc.ir.builders import tile
from xtc.tile.instructions.shapes import fitted, tensor_of
from xtc.tile.types import (
    DataType,
    float8_e4m3,
    float8_e5m2,
    float16,
    int8,
    int32,
    tfloat32,
    uint8,
)
from xtc.tile.values.arithmetic import cast
from xtc.tile.values.runtime import RegisterTensor


def dot_result(a: Any, b: Any, c: Any, acc_dtype: DataType | None) -> RegisterTensor:
    """`a @ b + c`. Raises UserError for incompatible shapes or types."""
    left, right = tensor_of(a, "dot"), tensor_of(b, "dot")
    _check(left, right)
    shape = (left.shape[0], right.shape[1])
    if c is None:
        if acc_dtype is None:
            raise UserError(
                "dot needs acc_dtype= without a third operand",
                hints=["self.dot(a, b, acc_dtype=float32)"],
            )
        _check_accumulator(left, acc_dtype)
        start = fitted(cast(0, acc_dtype), shape, "dot")
        return _multiplied(left, right, RegisterTensor(start.value, acc_dtype, shape))
    total = tensor_of(c, "dot")
    if total.shape != shape:
        raise UserError(
            f"dot: {left!r} times {right!r} is not {total!r}",
            notes=[f"it has shape {list(shape)}"],
            hints=[
                "the accumulator has the rows of the first operand and the columns of the second"
            ],
        )
    if acc_dtype not in (None, total.dtype):
        raise UserError(
            f"dot: acc_dtype={acc_dtype} and {total!r} differ",
            hints=["omit acc_dtype=: the third operand has a type"],
        )
    _check_accumulator(left, total.dtype)
    return _multiplied(left, right, total)


def _multiplied(
    left: RegisterTensor, right: RegisterTensor, total: RegisterTensor
) -> RegisterTensor:
    codes = _codes(left, right, total.dtype)
    if not codes:
        left, right = (_widened(operand, total.dtype) for operand in (left, right))
    is_tf32 = left.dtype == tfloat32
    made = tile.dot(left.value, right.value, total.value, tf32=is_tf32, codes=codes)
    return RegisterTensor(made, total.dtype, total.shape)


def _codes(left: RegisterTensor, right: RegisterTensor, total: DataType) -> list[str]:
    """The types of operands that instructions may multiply as they are; none for others, which are
    widened here."""
    types = (left.dtype, right.dtype)
    is_bytes = types == (uint8, uint8) and total.bits == int32.bits
    is_small = all(each in (float8_e4m3, float8_e5m2) for each in types)
    return [each.name for each in types] if is_bytes or is_small else []


def _wide(dtype: DataType) -> DataType:
    """The type to which an operand is widened, exactly."""
    return float16 if dtype.is_coded else int8 if dtype.is_packed else dtype


def _widened(operand: RegisterTensor, total: DataType) -> RegisterTensor:
    """Widen a float of at most 8 bits, an integer of fewer than 8 bits, and, to the accumulator
    type, an unsigned integer, because multiplications sign-extend."""
    dtype = _wide(operand.dtype)
    if dtype.kind == "int" and not dtype.signed and dtype.bits != total.bits:
        dtype = total
    return cast(operand, dtype)  # type: ignore[no-any-return]


def _check(left: RegisterTensor, right: RegisterTensor) -> None:
    if len(left.shape) != 2 or len(right.shape) != 2 or left.shape[1] != right.shape[0]:
        raise UserError(
            f"dot takes tiles of m x k and k x n, not {list(left.shape)} and {list(right.shape)}",
            hints=["transpose or reshape an operand: self.transpose(b)"],
        )
    if _wide(left.dtype) != _wide(right.dtype):
        raise UserError(
            f"dot takes two tiles of the same type, not {left.dtype} and {right.dtype}",
            hints=[f"cast the second: self.cast(b, dtype={left.dtype})"],
        )


def _check_accumulator(left: RegisterTensor, total: DataType) -> None:
    dtype = _wide(left.dtype)
    if dtype.kind == "bool" or dtype.is_float() != total.is_float():
        raise UserError(
            f"dot of {left.dtype} cannot be accumulated in {total}",
            hints=["accumulate in a wider type: acc_dtype=float32, int32 for integers"],
        )
    if total.bits < dtype.bits:
        raise UserError(
            f"dot of {dtype} cannot be accumulated in the narrower {total}",
            hints=["accumulate in a wider type: acc_dtype=float32, int32 for integers"],
        )

# SPDX-License-Identifier: Apache-2.0
"""Checks and converts the operands of the instruction `dot`."""

from __future__ import annotations

from typing import Any

from xtc.core.errors import UserError
from xtc.ir.builders import tile
from xtc.tile.instructions.shapes import fitted, tensor_of
from xtc.tile.types import DataType, float16, int8, tfloat32
from xtc.tile.values.arithmetic import cast
from xtc.tile.values.runtime import RegisterTensor


def dot_result(a: Any, b: Any, c: Any, acc_dtype: DataType | None) -> RegisterTensor:
    """`a @ b + c`. Raises UserError for incompatible shapes or types."""
    left, right = _widened(tensor_of(a, "dot")), _widened(tensor_of(b, "dot"))
    _check(left, right)
    tf32 = left.dtype == tfloat32
    shape = (left.shape[0], right.shape[1])
    if c is None:
        if acc_dtype is None:
            raise UserError(
                "dot needs acc_dtype= without a third operand",
                hints=["self.dot(a, b, acc_dtype=float32)"],
            )
        _check_accumulator(left, acc_dtype)
        start = fitted(cast(0, acc_dtype), shape, "dot")
        left, right = _signed(left, acc_dtype), _signed(right, acc_dtype)
        made = tile.dot(left.value, right.value, start.value, tf32=tf32)
        return RegisterTensor(made, acc_dtype, shape)
    total = tensor_of(c, "dot")
    if total.shape != shape:
        raise UserError(
            f"dot: {left!r} times {right!r} is not {total!r}",
            notes=[f"it has shape {list(shape)}"],
        )
    if acc_dtype not in (None, total.dtype):
        raise UserError(
            f"dot: acc_dtype={acc_dtype} and {total!r} differ",
            hints=["leave acc_dtype= out: the third operand has a type"],
        )
    _check_accumulator(left, total.dtype)
    left, right = _signed(left, total.dtype), _signed(right, total.dtype)
    made = tile.dot(left.value, right.value, total.value, tf32=tf32)
    return RegisterTensor(made, total.dtype, shape)


def _widened(operand: RegisterTensor) -> RegisterTensor:
    """Widen a float of at most 8 bits to float16, and an integer of fewer than 8 bits to a byte.
    Both are exact."""
    dtype = operand.dtype
    if dtype.is_coded:
        return cast(operand, float16)  # type: ignore[no-any-return]
    if dtype.is_packed:
        return cast(operand, int8)  # type: ignore[no-any-return]
    return operand


def _signed(operand: RegisterTensor, total: DataType) -> RegisterTensor:
    """Convert an unsigned integer to the accumulator type, because multiplications sign-extend."""
    if operand.dtype.kind != "int" or operand.dtype.signed or operand.dtype.bits == total.bits:
        return operand
    return cast(operand, total)  # type: ignore[no-any-return]


def _check(left: RegisterTensor, right: RegisterTensor) -> None:
    if len(left.shape) != 2 or len(right.shape) != 2 or left.shape[1] != right.shape[0]:
        raise UserError(
            f"dot takes tiles of m x k and k x n, not {list(left.shape)} and {list(right.shape)}",
            hints=["transpose or reshape an operand: self.transpose(b)"],
        )
    if left.dtype != right.dtype:
        raise UserError(
            f"dot takes two tiles of the same type, not {left.dtype} and {right.dtype}",
            hints=[f"cast the second: self.cast(b, dtype={left.dtype})"],
        )


def _check_accumulator(left: RegisterTensor, total: DataType) -> None:
    if left.dtype.kind == "bool" or left.dtype.is_float() != total.is_float():
        raise UserError(
            f"dot of {left.dtype} cannot be accumulated in {total}",
            hints=["accumulate in a wider type: acc_dtype=float32, int32 for integers"],
        )
    if total.bits < left.dtype.bits:
        raise UserError(
            f"dot of {left.dtype} cannot be accumulated in the narrower {total}",
            hints=["accumulate in a wider type: acc_dtype=float32, int32 for integers"],
        )

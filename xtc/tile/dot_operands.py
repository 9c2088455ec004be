# SPDX-License-Identifier: Apache-2.0
"""The instruction `dot`: what it takes."""

from __future__ import annotations

from typing import Any

from xtc.core.errors import UserError
from xtc.ir.builders import tile
from xtc.tile.arithmetic import cast
from xtc.tile.shapes import fitted, tensor_of
from xtc.tile.types import DataType
from xtc.tile.values import RegisterTensor


def dot_result(a: Any, b: Any, c: Any, acc_dtype: DataType | None) -> RegisterTensor:
    """`a @ b + c`. Raises UserError for shapes or types that do not fit."""
    left, right = tensor_of(a, "dot"), tensor_of(b, "dot")
    _check(left, right)
    shape = (left.shape[0], right.shape[1])
    if c is None:
        if acc_dtype is None:
            raise UserError("dot needs acc_dtype= where it has no third operand")
        start = fitted(cast(0, acc_dtype), shape, "dot")
        return RegisterTensor(tile.dot(left.value, right.value, start.value), acc_dtype, shape)
    total = tensor_of(c, "dot")
    if total.shape != shape:
        raise UserError(
            f"dot: {left!r} times {right!r} is no {total!r}",
            notes=[f"it has shape {list(shape)}"],
        )
    if acc_dtype not in (None, total.dtype):
        raise UserError(f"dot: acc_dtype={acc_dtype} and {total!r} differ")
    _check_accumulator(left, total.dtype)
    return RegisterTensor(tile.dot(left.value, right.value, total.value), total.dtype, shape)


def _check(left: RegisterTensor, right: RegisterTensor) -> None:
    if len(left.shape) != 2 or len(right.shape) != 2 or left.shape[1] != right.shape[0]:
        raise UserError(
            f"dot takes tiles of m x k and k x n, not {list(left.shape)} and {list(right.shape)}"
        )
    if left.dtype != right.dtype:
        raise UserError(
            f"dot takes two tiles of the same type, not {left.dtype} and {right.dtype}",
            hints=[f"cast the second: self.cast(b, dtype={left.dtype})"],
        )


def _check_accumulator(left: RegisterTensor, total: DataType) -> None:
    if left.dtype.kind == "bool" or left.dtype.is_float() != total.is_float():
        raise UserError(f"dot of {left.dtype} cannot be accumulated in {total}")
    if total.bits < left.dtype.bits:
        raise UserError(f"dot of {left.dtype} cannot be accumulated in the narrower {total}")

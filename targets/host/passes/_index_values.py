# SPDX-License-Identifier: Apache-2.0
"""Evaluates operations on indices whose operands are known."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence

from xtc.ir.mlir import (
    AffineAddExpr,
    AffineCeilDivExpr,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineFloorDivExpr,
    AffineMapAttr,
    AffineMulExpr,
    AffineSymbolExpr,
    IndexType,
    IntegerAttr,
    Operation,
    Value,
)

Known = Mapping[Value, int]

_INTEGERS: Mapping[str, Callable[[int, int], int]] = {
    "arith.addi": operator.add,
    "arith.subi": operator.sub,
    "arith.muli": operator.mul,
    "arith.divui": operator.floordiv,
    "arith.divsi": operator.floordiv,  # for operands that are not negative
    "arith.remui": operator.mod,
    "arith.minsi": min,
    "arith.minui": min,
    "arith.maxsi": max,
    "arith.maxui": max,
}
_COMPARISONS: Sequence[Callable[[int, int], bool]] = (
    *(operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge),
    *(operator.lt, operator.le, operator.gt, operator.ge),
)
"""By the predicate number of `arith.cmpi`, for operands that are not negative."""


def index_value(op: Operation, known: Known) -> int | None:
    """The result of an operation on indices; None if it is unknown."""
    if op.name == "arith.constant":
        value = op.attributes["value"]
        return int(value.value) if isinstance(value, IntegerAttr) else None
    if len(op.results) != 1 or not len(op.operands):
        return None
    numbers = [known.get(operand) for operand in op.operands]
    given = [number for number in numbers if number is not None]
    if len(given) < len(numbers):
        return None
    if op.name in _INTEGERS:
        return _applied(_INTEGERS[op.name], *given)
    if op.name == "arith.cmpi":
        return int(_COMPARISONS[IntegerAttr(op.attributes["predicate"]).value](*given))
    if op.name == "arith.select" and isinstance(op.results[0].type, IndexType):
        return given[1] if given[0] else given[2]
    if op.name in ("affine.apply", "affine.min", "affine.max"):
        return _mapped(op, given)
    return given[0] if op.name == "arith.index_cast" else None


def _applied(function: Callable[[int, int], int], left: int, right: int) -> int | None:
    try:
        return function(left, right)
    except ZeroDivisionError:
        return None


def _mapped(op: Operation, operands: Sequence[int]) -> int:
    """The result of an affine map, or the minimum or maximum of its results."""
    map = AffineMapAttr(op.attributes["map"]).value
    dims, symbols = operands[: map.n_dims], operands[map.n_dims :]
    results = [_affine(expr, dims, symbols) for expr in map.results]
    return max(results) if op.name == "affine.max" else min(results)


def _affine(expr: AffineExpr, dims: Sequence[int], symbols: Sequence[int]) -> int:
    if isinstance(expr, AffineConstantExpr):
        return int(expr.value)
    if isinstance(expr, AffineDimExpr):
        return dims[int(expr.position)]
    if isinstance(expr, AffineSymbolExpr):
        return symbols[int(expr.position)]
    left, right = (_affine(part, dims, symbols) for part in (expr.lhs, expr.rhs))
    if isinstance(expr, AffineAddExpr):
        return left + right
    if isinstance(expr, AffineMulExpr):
        return left * right
    if isinstance(expr, AffineFloorDivExpr):
        return left // right
    if isinstance(expr, AffineCeilDivExpr):
        return -(-left // right)
    return left % right

# SPDX-License-Identifier: Apache-2.0
"""Affine operations on one index, and positions in a grid."""

from __future__ import annotations

from collections.abc import Sequence

from xtc.ir.builders.numbers import Number
from xtc.ir.mlir import (
    AffineDimExpr,
    AffineExpr,
    AffineMap,
    AffineMapAttr,
    IndexType,
    InsertionPoint,
    Value,
    affine,
)


def apply(expression: AffineExpr, value: Value, ip: InsertionPoint | None = None) -> Value:
    """An `affine.apply` of an expression to one index."""
    return affine.apply(_map([expression]), [value], ip=ip)


def shifted(index: Value, distance: int, ip: InsertionPoint | None = None) -> Value:
    """`index + distance`."""
    return apply(AffineDimExpr.get(0) + distance, index, ip) if distance else index


def minimum(
    expressions: Sequence[AffineExpr], value: Value, ip: InsertionPoint | None = None
) -> Value:
    """The minimum of affine expressions of one index."""
    return affine.min(_map(expressions), [value], ip=ip)


def _map(expressions: Sequence[AffineExpr]) -> AffineMapAttr:
    return AffineMapAttr.get(AffineMap.get(1, 0, list(expressions)))


def delinearized(
    number: Value, sizes: Sequence[int], ip: InsertionPoint | None = None, *, unbounded: int = 0
) -> list[Value]:
    """The position of iteration `number` in a grid of `sizes`, whose last dimension is fastest.

    With `unbounded` = 1, the grid has another outermost dimension, of unknown size.
    """
    types = [IndexType.get()] * (unbounded + len(sizes))
    result = affine.AffineDelinearizeIndexOp(types, number, [], list(sizes), ip=ip)
    return list(result.operation.results)


def digits(number: Value, counts: Sequence[int], ip: InsertionPoint | None = None) -> list[Number]:
    """Like `delinearized`, with affine expressions; 0 in dimensions of size 1."""
    found: list[Number] = []
    below = 1
    first = next((n for n, count in enumerate(counts) if count > 1), -1)
    for position in range(len(counts) - 1, -1, -1):
        count = counts[position]
        if count == 1:
            found.append(0)
            continue
        expression = AffineDimExpr.get(0)
        if below > 1:
            expression = AffineExpr.get_floor_div(expression, below)
        if position != first:
            expression = AffineExpr.get_mod(expression, count)
        found.append(
            number if expression == AffineDimExpr.get(0) else apply(expression, number, ip)
        )
        below *= count
    return found[::-1]

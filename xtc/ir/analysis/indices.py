# SPDX-License-Identifier: Apache-2.0
"""Indices of tensors as sums over loop counters, read from affine expressions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xtc.ir.mlir import (
    AffineAddExpr,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMulExpr,
)

_CONSTANT = -1  # stands for the constant term among the numbers of loops


@dataclass(frozen=True)
class Index:
    """A tensor index `sum of factor * loop counter + offset`; factors are positive."""

    factors: tuple[tuple[int, int], ...]
    offset: int

    @property
    def loop(self) -> int | None:
        """The loop whose counter the index is, or None if it is anything else."""
        if self.offset == 0 and len(self.factors) == 1 and self.factors[0][1] == 1:
            return self.factors[0][0]
        return None

    def renamed(self, loops: Sequence[int]) -> Index:
        """The index with `loops[n]` in the place of loop n."""
        return Index(tuple((loops[loop], factor) for loop, factor in self.factors), self.offset)

    def factor(self, loop: int) -> int:
        """How far the index moves in one iteration of `loop`."""
        return dict(self.factors).get(loop, 0)

    def scaled(self, loop: int, times: int) -> Index:
        """The index where `loop` moves it `times` as far."""
        factors = (
            (other, factor * times if other == loop else factor) for other, factor in self.factors
        )
        return Index(tuple(factors), self.offset)

    def reach(self, extents: Sequence[int]) -> int:
        """One more than the largest index in loops of these extents."""
        return sum(f * (extents[loop] - 1) for loop, f in self.factors) + self.offset + 1


def index_of(expr: AffineExpr) -> Index | None:
    """The index an affine expression is; None if it is no sum, or has a negative factor."""
    if isinstance(expr, AffineDimExpr):
        return Index(((expr.position, 1),), 0)
    terms = _terms(expr)
    if terms is None or any(factor < 0 for factor in terms.values()):
        return None
    factors = tuple((loop, factor) for loop, factor in terms.items() if loop >= 0 and factor)
    return Index(factors, terms.get(_CONSTANT, 0))


def _terms(expr: AffineExpr) -> dict[int, int] | None:
    """Factors by loop, and the constant term; None for an expression that is not linear."""
    if isinstance(expr, AffineDimExpr):
        return {expr.position: 1}
    if isinstance(expr, AffineConstantExpr):
        return {_CONSTANT: expr.value}
    if not isinstance(expr, AffineAddExpr | AffineMulExpr):
        return None
    left, right = _terms(expr.lhs), _terms(expr.rhs)
    if left is None or right is None:
        return None
    if isinstance(expr, AffineAddExpr):
        return {loop: left.get(loop, 0) + right.get(loop, 0) for loop in {**left, **right}}
    scale = right.get(_CONSTANT, 0)  # MLIR keeps the constant on the right
    return {loop: factor * scale for loop, factor in left.items()}

# SPDX-License-Identifier: Apache-2.0
"""Tensor indices as linear sums of induction variables, from affine expressions."""

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

_CONSTANT = -1  # key of the constant term among the loop numbers


@dataclass(frozen=True)
class Index:
    """A tensor index `sum of factor * induction variable + offset`; factors are positive."""

    factors: tuple[tuple[int, int], ...]
    offset: int

    @property
    def loop(self) -> int | None:
        """The loop if the index is a plain induction variable, else None."""
        if self.offset == 0 and len(self.factors) == 1 and self.factors[0][1] == 1:
            return self.factors[0][0]
        return None

    def renamed(self, loops: Sequence[int]) -> Index:
        """The index with `loops[n]` substituted for loop n."""
        return Index(tuple((loops[loop], factor) for loop, factor in self.factors), self.offset)

    def factor(self, loop: int) -> int:
        """The increase of the index per iteration of `loop`."""
        return dict(self.factors).get(loop, 0)

    def scaled(self, loop: int, times: int) -> Index:
        """The index with the factor of `loop` multiplied by `times`."""
        factors = (
            (other, factor * times if other == loop else factor) for other, factor in self.factors
        )
        return Index(tuple(factors), self.offset)

    def reach(self, extents: Sequence[int]) -> int:
        """The largest index plus one, for loops with these extents."""
        return sum(f * (extents[loop] - 1) for loop, f in self.factors) + self.offset + 1


def index_of(expr: AffineExpr) -> Index | None:
    """The index of an affine expression; None if it is not linear or has a negative factor."""
    if isinstance(expr, AffineDimExpr):
        return Index(((expr.position, 1),), 0)
    terms = _terms(expr)
    if terms is None or any(factor < 0 for factor in terms.values()):
        return None
    factors = tuple((loop, factor) for loop, factor in terms.items() if loop >= 0 and factor)
    return Index(factors, terms.get(_CONSTANT, 0))


def _terms(expr: AffineExpr) -> dict[int, int] | None:
    """The factor of each loop, and the constant term; None if the expression is not linear."""
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

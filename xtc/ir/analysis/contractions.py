# SPDX-License-Identifier: Apache-2.0
"""Contractions, which include convolutions: the roles of their loops, and their bodies.

A contraction is `c[batch, m, n] += a[batch, m, k] * b[batch, k, n]`, with any number of loops in
each role. MLIR infers the roles from the indexing maps. An index over several loops, like those of
a convolution's image, counts as an index of each of them. The pixels of a convolution are then m,
its filters n, its window and input channels k; the channels of a depthwise convolution are batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xtc.core.types import dot_groups
from xtc.ir.analysis.indices import Index
from xtc.ir.analysis.structured import Structured, body_operations, structured
from xtc.ir.attributes import DOT
from xtc.ir.mlir import (
    AffineDimExpr,
    AffineMap,
    Operation,
    Value,
    infer_contraction_dimensions_from_maps,
)

_MULTIPLICATIONS = ("arith.mulf", "arith.muli")
_ADDITIONS = ("arith.addf", "arith.addi")
_WIDENINGS = ("arith.extf", "arith.extsi", "arith.extui")
_NARROW = (
    ("arith.extf", "arith.extf"),
    ("arith.extsi", "arith.extsi"),
    ("arith.extui", "arith.extsi"),
)


@dataclass(frozen=True)
class Roles:
    """The loops of a contraction by role, each outermost first.

    Attributes:
        batch: loops that index both operands and the result.
        m: loops that index operand a and the result.
        n: loops that index operand b and the result.
        k: loops that index both operands but not the result: the reduction.
    """

    batch: tuple[int, ...]
    m: tuple[int, ...]
    n: tuple[int, ...]
    k: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Contraction:
    """A contraction with static shapes.

    Attributes:
        nest: the operation.
        roles: its loops by role.
        widenings: the operations that widen the elements of operands 0 and 1, or "".
        a, b: the operand numbers that have the roles of a and b.
    """

    nest: Structured
    roles: Roles
    widenings: tuple[str, str]
    a: int = 0
    b: int = 1

    @property
    def is_plain(self) -> bool:
        """Whether each dimension of an operand is indexed by a distinct loop."""
        rows = [[index.loop for index in row] for row in self.nest.indices]
        return all(None not in row and len(set(row)) == len(row) for row in rows)

    @property
    def swapped(self) -> Contraction:
        """The same contraction with the roles of operands a and b swapped."""
        old = self.roles
        roles = replace(old, m=old.n, n=old.m)
        return Contraction(self.nest, roles, self.widenings, self.b, self.a)

    def with_columns(self, loop: int | None) -> Contraction | None:
        """The contraction with `loop` in n, swapped if needed; None if it is in neither m nor n."""
        if loop in self.roles.n:
            return self
        return self.swapped if loop in self.roles.m else None


def contraction(nest: Structured) -> Contraction | None:
    """The operation as a contraction; None for other operations."""
    if nest.destination != 2:
        return None
    widenings = multiply_add(nest.op)
    if widenings is None:
        return None
    with nest.op.context:
        roles = contraction_roles(nest.indices, len(nest.extents))
    return None if roles is None else Contraction(nest, roles, widenings)


def narrow_contraction(nest: Structured) -> Contraction | None:
    """A contraction with one reduction loop that widens operands of one type; None for others.

    One loop indexes each dimension of each operand, and the result is contiguous along n.
    """
    found = contraction(nest)
    if found is None or found.widenings not in _NARROW or not found.is_plain:
        return None
    types = {str(value.type.element_type) for value in list(nest.op.operands)[:2]}
    if len(types) != 1 or len(found.roles.k) != 1 or nest.out[-1:] != found.roles.n[-1:]:
        return None
    return found


def grouped_loops(op: Operation) -> dict[int, tuple[int, ...]]:
    """The reduction loops of which an instruction may sum several iterations, and how many."""
    nest = structured(op)
    if nest is None or not nest.reductions:
        return {}
    if DOT in op.attributes:
        last = nest.reductions[-1]
        return {last: (nest.extents[last],)}
    found = narrow_contraction(nest)
    if found is None:
        return {}
    (k,), element = found.roles.k, str(op.operands[0].type.element_type)
    return {k: dot_groups(element, nest.extents[k])}


def contraction_roles(indices: Sequence[Sequence[Index]], loops: int) -> Roles | None:
    """The roles of all loops, from the indices of two operands and a result; None if k is empty."""
    maps = []
    for row in indices:
        walking = dict.fromkeys(loop for index in row for loop, _ in index.factors)
        maps.append(AffineMap.get(loops, 0, [AffineDimExpr.get(loop) for loop in walking]))
    found = infer_contraction_dimensions_from_maps(maps)
    if found is None:
        return None
    roles = Roles(*(tuple(role) for role in (found.batch, found.m, found.n, found.k)))
    count = sum(len(role) for role in (roles.batch, roles.m, roles.n, roles.k))
    return roles if roles.k and count == loops else None


def multiply_add(op: Operation) -> tuple[str, str] | None:
    """The operations that widen operands a and b of `c + a * b`; "" for an operand as it is.

    None if the body computes anything else.
    """
    block = op.regions[0].blocks[0]
    if len(block.arguments) != 3:
        return None
    a, b, c = block.arguments
    *ops, end = body_operations(op)
    by_value = {result: inner for inner in ops for result in inner.results}
    total = by_value.get(end.operands[0])
    if total is None or total.name not in _ADDITIONS or c not in list(total.operands):
        return None
    (product_value,) = [value for value in total.operands if value != c] or [c]
    product = by_value.get(product_value)
    if product is None or product.name not in _MULTIPLICATIONS:
        return None
    widened = dict(_widened(value, by_value) for value in product.operands)
    known = len(ops) == 2 + sum(1 for name in widened.values() if name)
    return (widened[a], widened[b]) if known and set(widened) == {a, b} else None


def _widened(value: Value, by_value: dict[Value, Operation]) -> tuple[Value, str]:
    """The value before its widening, and the operation that widens it, or ""."""
    op = by_value.get(value)
    if op is None or op.name not in _WIDENINGS:
        return value, ""
    return op.operands[0], str(op.name)

# SPDX-License-Identifier: Apache-2.0
"""hoist-scales: what scales all terms of a sum alike scales the sum."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.effects import written_memrefs
from xtc.ir.analysis.linalg_ops import owner
from xtc.ir.analysis.structured import type_bits
from xtc.ir.mlir import (
    Block,
    DenseElementsAttr,
    FloatAttr,
    InsertionPoint,
    Operation,
    Value,
    VectorType,
    all_operations,
    arith,
)
from xtc.ir.passes import Pass

_CONVERSIONS = ("arith.sitofp", "arith.uitofp")
_DIFFERENCES = ("arith.addf", "arith.subf")
_FLOAT_BITS = 32
_FIRST = 3  # of a loop's operands that it carries, behind its bounds and its step
_FEW_TERMS = 2  # that share a scaled number: for more, scaling it once costs less than the sums
_PURE = ("arith.", "affine.apply", "vector.broadcast", "vector.load", "memref.load")


@dataclass(frozen=True)
class HoistScales(Pass):
    """Multiply the sum of a loop by the scale of its terms, in place of each term.

    Weights of few bits are integers with a scale for each group of them. Where a loop adds up a
    group, its sum starts from zero and is scaled once.

    Before:
        scf.for %k = ... iter_args(%sum = %first) {
          %w = arith.mulf (arith.sitofp %code), %scale : vector<16xf32>
          %next = arith.addf %sum, (arith.mulf %x, %w)
    After:
        %last = scf.for %k = ... iter_args(%sum = 0.0) {
          %next = arith.addf %sum, (arith.mulf %x, (arith.sitofp %code))
        }
        %total = arith.addf %first, (arith.mulf %last, %scale)

    The terms must be integers that are converted, or differences of these, whose sums stay far from
    the largest float. `scale` may be read in the loop, if nothing there writes memory. A number
    that several rows multiply is scaled once for all of them, which costs less than their sums.
    """

    name: ClassVar[str] = "hoist-scales"

    def run(self, module: Operation) -> None:
        loops = [op for op in all_operations(module) if op.name == "scf.for" and op.results]
        for loop in reversed(loops):
            if not written_memrefs(loop):
                for scaled in list(_scaled_sums(loop)):
                    with loop.context, loop.location:
                        _hoist(loop, scaled)


@dataclass(frozen=True)
class _ScaledSum:
    """A sum that a loop carries.

    Attributes:
        number: of the loop's result.
        addition: of a term.
        factor: what the integers are multiplied by.
        integers: the other factor of a term without its scales, as floats.
        scales: the factors that the loop does not change.
    """

    number: int
    addition: Operation
    factor: Value
    integers: Value
    scales: tuple[Value, ...]


def _scaled_sums(loop: Operation) -> Iterator[_ScaledSum]:
    body = loop.regions[0].blocks[0]
    carried = list(body.arguments)[1:]
    yielded = list(body.operations)[-1].operation.operands
    for number, (before, after) in enumerate(zip(carried, yielded, strict=True)):
        addition = owner(after)
        if addition is not None and addition.name == "arith.addf" and _has_range(after):
            left, right = addition.operands
            if before in (left, right) and len(list(before.uses)) == 1:
                product = owner(right if before == left else left)
                yield from _scaled_sum(number, addition, product, body)


def _has_range(value: Value) -> bool:
    """Whether sums of integers are far from the largest float."""
    return type_bits(value.type) >= _FLOAT_BITS


def _scaled_sum(
    number: int, addition: Operation, product: Operation | None, body: Block
) -> list[_ScaledSum]:
    """The sum, if its terms are products of integers with scales, and few share one."""
    if product is None or product.name != "arith.mulf":
        return []
    for factor, scaled in (product.operands, reversed(list(product.operands))):
        integers, scales = _split(scaled, body)
        few = len(list(scaled.uses)) <= _FEW_TERMS
        if scales and few and _is_from_integers(integers):
            return [_ScaledSum(number, addition, factor, integers, scales)]
    return []


def _split(value: Value, body: Block) -> tuple[Value, tuple[Value, ...]]:
    """A product as a factor that the loop changes, and those that it does not."""
    product = owner(value)
    if product is None or product.name != "arith.mulf":
        return value, ()
    for rest, scale in (product.operands, reversed(list(product.operands))):
        if _is_invariant(scale, body):
            inner, scales = _split(rest, body)
            return inner, (*scales, scale)
    return value, ()


def _is_invariant(value: Value, body: Block) -> bool:
    """Whether a loop that writes no memory does not change the value."""
    op = owner(value)
    if op is None:
        return bool(value.owner != body)
    if op.block != body:
        return True
    return op.name.startswith(_PURE) and all(_is_invariant(v, body) for v in op.operands)


def _is_from_integers(value: Value) -> bool:
    op = owner(value)
    if op is not None and op.name in _DIFFERENCES:
        return any(_is_from_integers(operand) for operand in op.operands)
    return op is not None and op.name in _CONVERSIONS


def _hoist(loop: Operation, sum: _ScaledSum) -> None:
    body = loop.regions[0].blocks[0]
    for scale in sum.scales:
        _move_before(scale, loop, body)
    old, total = loop.operands[_FIRST + sum.number], loop.results[sum.number]
    with InsertionPoint(sum.addition):
        term = arith.mulf(sum.factor, sum.integers)
        carried = body.arguments[1 + sum.number]
        next = arith.addf(carried, term)
    sum.addition.results[0].replace_all_uses_with(next)
    sum.addition.erase()
    with InsertionPoint(loop):
        loop.operands[_FIRST + sum.number] = _zero(total)
    with InsertionPoint.after(loop):
        scaled = [arith.mulf(total, sum.scales[0])]
        for scale in sum.scales[1:]:
            scaled.append(arith.mulf(scaled[-1], scale))
        total.replace_all_uses_except(arith.addf(old, scaled[-1]), [owner(scaled[0])])


def _move_before(value: Value, loop: Operation, body: Block) -> None:
    """Move what computes an invariant value out of the loop."""
    op = owner(value)
    if op is not None and op.block == body:
        for operand in op.operands:
            _move_before(operand, loop, body)
        op.move_before(loop)


def _zero(like: Value) -> Value:
    type = like.type
    element = type.element_type if isinstance(type, VectorType) else type
    zero = FloatAttr.get(element, 0.0)
    splat = isinstance(type, VectorType)
    return arith.constant(type, DenseElementsAttr.get_splat(type, zero) if splat else zero)

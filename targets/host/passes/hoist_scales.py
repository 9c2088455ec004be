# SPDX-License-Identifier: Apache-2.0
"""hoist-scales: moves a scale that all terms of a sum share out of the loop."""

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
_FIRST = 3  # the first loop-carried operand, after the bounds and the step
_FEW_TERMS = 2  # sums that share a scaled value; with more, scaling the value once is cheaper
_PURE = ("arith.", "affine.apply", "vector.broadcast", "vector.load", "memref.load")


@dataclass(frozen=True)
class HoistScales(Pass):
    """Scale the sum of a loop once, instead of each of its terms.

    Quantized weights are integers with a scale per group. If a loop sums a group, the sum starts
    from zero and is scaled once.

    Before:
        scf.for %k = ... iter_args(%sum = %first) {
          %w = arith.mulf (arith.sitofp %code), %scale : vector<16xf32>
          %next = arith.addf %sum, (arith.mulf %x, %w)
    After:
        %last = scf.for %k = ... iter_args(%sum = 0.0) {
          %next = arith.addf %sum, (arith.mulf %x, (arith.sitofp %code))
        }
        %total = arith.addf %first, (arith.mulf %last, %scale)

    The terms must be converted integers, or differences of these, whose sums stay far from the
    largest float. The scale may be loaded in the loop, if nothing there writes memory. A value that
    several rows share stays scaled in the loop, once for all rows, which is cheaper than scaling
    their sums.
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
    """A sum that a loop carries, whose terms have a common scale.

    Attributes:
        number: the number of the loop's result.
        addition: the addition of a term.
        factor: the operand that the integers are multiplied by.
        integers: the other operand without its scales, converted to floats.
        scales: the loop-invariant factors.
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
    """Whether sums of integers stay far from the largest float of the type."""
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
    """A product as its varying factor and its loop-invariant ones."""
    product = owner(value)
    if product is None or product.name != "arith.mulf":
        return value, ()
    for rest, scale in (product.operands, reversed(list(product.operands))):
        if _is_invariant(scale, body):
            inner, scales = _split(rest, body)
            return inner, (*scales, scale)
    return value, ()


def _is_invariant(value: Value, body: Block) -> bool:
    """Whether a value is invariant in a loop that writes no memory."""
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
    """Move an invariant value, and its producers, out of the loop."""
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

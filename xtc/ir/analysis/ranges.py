# SPDX-License-Identifier: Apache-2.0
"""Ranges of indices in the body of a linalg operation, from its loops and conditions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from xtc.ir.analysis.linalg_ops import trip_counts
from xtc.ir.mlir import Block, IndexType, IntegerAttr, Operation, ShapedType, Value

_LIMIT = 1 << 62
"""Sums and differences of numbers below this limit do not wrap."""
_DEPTH = 64
"""The longest chain of arithmetic that is analyzed."""


@dataclass(frozen=True)
class Range:
    """The integers from `least` to `most` inclusive; empty if `least` is larger."""

    least: int
    most: int

    def within(self, other: Range) -> Range:
        """The intersection of both ranges."""
        return Range(max(self.least, other.least), min(self.most, other.most))


ANYTHING = Range(-(1 << 63), (1 << 63) - 1)


def stays_inside(op: Operation) -> bool:
    """Whether a `tensor.extract` from a static shape is provably in bounds."""
    source, *indices = op.operands
    if not _has_known_sizes(source):
        return False
    known = _Ranges(dict(_conditions(op)))
    ranges = [known.of(index) for index in indices]
    return all(
        found.least >= 0 and found.most < size
        for found, size in zip(ranges, source.type.shape, strict=True)
    ) or any(found.least > found.most for found in ranges)


def _conditions(op: Operation) -> Iterator[tuple[Value, Range]]:
    """The ranges of values that the `scf.if` branches around `op` imply."""
    known: dict[Value, Range] = {}
    while op.name != "builtin.module" and op.parent is not None:
        parent = op.parent
        if parent.name == "scf.if" and op.block == parent.regions[0].blocks[0]:
            for value, found in _implied(parent.operands[0]):
                known[value] = known.get(value, ANYTHING).within(found)
        op = parent
    yield from known.items()


def _implied(condition: Value) -> Iterator[tuple[Value, Range]]:
    """The ranges that a conjunction of comparisons with constants implies."""
    if isinstance(condition.owner, Block):
        return
    op = condition.owner.operation
    if op.name == "arith.andi":
        for operand in op.operands:
            yield from _implied(operand)
    elif op.name == "arith.cmpi":
        left, right = op.operands
        predicate = IntegerAttr(op.attributes["predicate"]).value
        if (bound := _constant(right)) is not None:
            yield left, _compared(predicate, bound)
        elif (bound := _constant(left)) is not None:
            yield right, _compared(_SWAPPED.get(predicate, predicate), bound)


_EQUAL, _LESS, _AT_MOST, _MORE, _AT_LEAST, _LESS_UNSIGNED, _AT_MOST_UNSIGNED = 0, 2, 3, 4, 5, 6, 7
_SWAPPED = {2: 4, 3: 5, 4: 2, 5: 3, 6: 8, 7: 9, 8: 6, 9: 7}


def _compared(predicate: int, bound: int) -> Range:
    """A range that includes all values for which `value predicate bound` holds."""
    if predicate in (_LESS_UNSIGNED, _AT_MOST_UNSIGNED) and bound >= 0:
        return Range(0, bound - (predicate == _LESS_UNSIGNED))
    return {
        _EQUAL: Range(bound, bound),
        _LESS: Range(ANYTHING.least, bound - 1),
        _AT_MOST: Range(ANYTHING.least, bound),
        _MORE: Range(bound + 1, ANYTHING.most),
        _AT_LEAST: Range(bound, ANYTHING.most),
    }.get(predicate, ANYTHING)


@dataclass
class _Ranges:
    """Ranges of values, each computed once; `known` are those that conditions imply."""

    known: Mapping[Value, Range]
    found: dict[Value, Range] = field(default_factory=dict)

    def of(self, value: Value, depth: int = 0) -> Range:
        """The range of an index."""
        if value not in self.found:
            computed = self._computed(value, depth) if depth < _DEPTH else ANYTHING
            self.found[value] = computed.within(self.known.get(value, ANYTHING))
        return self.found[value]

    def _computed(self, value: Value, depth: int) -> Range:
        number = _constant(value)
        if number is not None:
            return Range(number, number)
        if isinstance(value.owner, Block) or not isinstance(value.type, IndexType):
            return ANYTHING
        op = value.owner.operation
        if op.name == "linalg.index":
            return _loop_range(op)
        if op.name not in _ARITHMETIC:
            return ANYTHING
        left, right = (self.of(operand, depth + 1) for operand in op.operands)
        return _combined(op.name, left, right)


def _combined(name: str, left: Range, right: Range) -> Range:
    """The range of a sum, difference or product; all integers if it may wrap."""
    if not _is_small(left) or not _is_small(right):
        return ANYTHING
    ends = {
        "arith.addi": [left.least + right.least, left.most + right.most],
        "arith.subi": [left.least - right.most, left.most - right.least],
        "arith.muli": [a * b for a in (left.least, left.most) for b in (right.least, right.most)],
    }[name]
    found = Range(min(ends), max(ends))
    return found if _is_small(found) else ANYTHING


_ARITHMETIC = ("arith.addi", "arith.subi", "arith.muli")


def _loop_range(op: Operation) -> Range:
    """The iterations of the loop whose index a `linalg.index` returns."""
    parent = op.parent
    while not parent.name.startswith("linalg."):
        parent = parent.parent
    if parent.name != "linalg.generic" or not all(map(_has_known_sizes, parent.operands)):
        return ANYTHING
    dimension = IntegerAttr(op.attributes["dim"]).value
    return Range(0, trip_counts(parent)[dimension] - 1)


def _has_known_sizes(value: Value) -> bool:
    """Whether a value is a scalar or has a static shape."""
    return not isinstance(value.type, ShapedType) or bool(value.type.has_static_shape)


def _constant(value: Value) -> int | None:
    if isinstance(value.owner, Block) or value.owner.operation.name != "arith.constant":
        return None
    attribute = value.owner.operation.attributes["value"]
    return int(IntegerAttr(attribute).value) if isinstance(attribute, IntegerAttr) else None


def _is_small(found: Range) -> bool:
    return -_LIMIT < found.least <= found.most < _LIMIT

# SPDX-License-Identifier: Apache-2.0
"""The elements of a dense buffer that a view covers, as ranges of the buffer's indices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from xtc.ir.analysis.accesses import sum_of
from xtc.ir.analysis.views import RESHAPES
from xtc.ir.mlir import BlockArgument, MemRefType, Operation, OpResult, Value
from xtc_passes.local._view_layouts import mixed

_SUBVIEW, _CAST = "memref.subview", "memref.reinterpret_cast"


@dataclass(frozen=True)
class Loop:
    """The index of a loop with known bounds: `start`, `start + step`, ..."""

    start: int
    step: int
    trips: int


@dataclass
class Offset:
    """An affine offset in elements: a constant, and loop indices with factors."""

    constant: int = 0
    factors: dict[Value, int] = field(default_factory=dict)

    def add(self, value: Value | int, factor: int) -> None:
        """Add `factor` times a number, or a value that is expanded to loop indices."""
        if isinstance(value, int):
            self.constant += factor * value
            return
        if isinstance(value, OpResult) and value.owner.name == "arith.muli":
            left, right = (sum_of(operand) for operand in value.owner.operands)
            if not right.terms:
                self.add(value.owner.operands[0], factor * right.constant)
                return
            if not left.terms:
                self.add(value.owner.operands[1], factor * left.constant)
                return
        found = sum_of(value)
        self.constant += factor * found.constant
        for term, times in found.terms.items():
            if term == value:
                self.factors[term] = self.factors.get(term, 0) + factor * times
            else:
                self.add(term, factor * times)


@dataclass(frozen=True)
class Box:
    """A range of each index of a buffer, and its movement with the iterations of loops.

    Attributes:
        ranges: the first index and the last, for each dimension.
        moves: by loop index, the dimension that moves, and by how many indices per iteration.
    """

    ranges: tuple[tuple[int, int], ...]
    moves: Mapping[Value, tuple[int, int]]

    def is_apart(self, other: Box) -> bool:
        """Whether the two are disjoint in all iterations."""
        moved = {dim for dim, _ in (*self.moves.values(), *other.moves.values())}
        return any(
            dim not in moved and (last < begin or end < first)
            for dim, ((first, last), (begin, end)) in enumerate(
                zip(self.ranges, other.ranges, strict=True)
            )
        )

    def meets(self, other: Box) -> bool:
        """Whether the two may overlap within one iteration of the common loops."""
        return all(
            begin <= last and first <= end
            for (first, last), (begin, end) in zip(self.ranges, other.ranges, strict=True)
        )

    def stays(self, other: Box, loops: Mapping[Value, Loop]) -> bool:
        """Whether the two are disjoint across different iterations of the loops.

        Both must move alike, and in each dimension a loop must move them past everything that loops
        with shorter moves reach.
        """
        if self.moves != other.moves:
            return False
        if any(loop.trips > 1 and value not in self.moves for value, loop in loops.items()):
            return False
        for dim, (ours, theirs) in enumerate(zip(self.ranges, other.ranges, strict=True)):
            reach = max(ours[1], theirs[1]) - min(ours[0], theirs[0]) + 1
            moves = [
                (by, loops[value].trips) for value, (at, by) in self.moves.items() if at == dim
            ]
            for by, trips in sorted(moves):
                if by < reach:
                    return False
                reach += by * (trips - 1)
        return True


def box_of(view: Value, shape: Sequence[int], loops: Mapping[Value, Loop]) -> Box | None:
    """The box of `view` in a dense buffer of `shape`; None if it is not a box.

    `loops` has the surrounding loops. Loops whose iterations are distinguished stay as moves; for
    each other loop a Loop is given, and the box covers all of its iterations.
    """
    offset = offset_of(view)
    if offset is None:
        return None
    type = MemRefType(view.type)
    steps = list(zip(type.shape, type.get_strides_and_offset()[0], strict=True))
    kept: dict[Value, tuple[int, int]] = {}
    for value, factor in offset.factors.items():
        loop = loops.get(value) or loop_of(value)
        if loop is None or factor < 0:
            return None
        offset.constant += factor * loop.start
        if value in loops:
            kept[value] = (loop.trips, factor * loop.step)
        else:
            steps.append((loop.trips, factor * loop.step))
    return _box(offset.constant, steps, kept, shape)


def _box(
    start: int,
    steps: Sequence[tuple[int, int]],
    kept: Mapping[Value, tuple[int, int]],
    shape: Sequence[int],
) -> Box | None:
    inner = list(accumulate(reversed(shape), int.__mul__, initial=1))
    strides = inner[len(shape) - 1 :: -1] if shape else []
    begin = [start // stride % size for stride, size in zip(strides, shape, strict=True)]
    last = list(begin)
    for size, step in steps:
        if not _extend(last, size, step, shape, strides):
            return None
    moves: dict[Value, tuple[int, int]] = {}
    most = list(last)
    for value, (trips, step) in kept.items():
        if trips == 1 or step == 0:
            continue
        dim = _dimension(step, strides)
        if dim is None or not _extend(most, trips, step, shape, strides, may_split=False):
            return None
        moves[value] = (dim, step // strides[dim])
    # Elements past the end of a dimension belong to the next index.
    if any(end >= size for end, size in zip(most, shape, strict=True)):
        return None
    return Box(tuple(zip(begin, last, strict=True)), moves)


def _extend(
    last: list[int],
    size: int,
    step: int,
    shape: Sequence[int],
    strides: Sequence[int],
    *,
    may_split: bool = True,
) -> bool:
    """Extend the ranges by `size` steps; False if the result is not a range of indices."""
    while size > 1 and step:
        dim = _dimension(step, strides)
        if dim is None:
            return False
        by = step // strides[dim]
        inside = min(size, -(-shape[dim] // by))
        if inside < size and (not may_split or dim == 0 or shape[dim] % by or size % inside):
            return False
        last[dim] += by * (inside - 1)
        size, step = size // inside, step * inside
    return True


def _dimension(step: int, strides: Sequence[int]) -> int | None:
    """The outermost dimension whose stride divides a step; None if there is none."""
    found = [dim for dim, stride in enumerate(strides) if stride <= step and step % stride == 0]
    return next((dim for dim in found if dim == 0 or strides[dim - 1] > step), None)


def offset_of(view: Value) -> Offset | None:
    """The offset of a view in its buffer; None if it is unknown."""
    if not isinstance(view, OpResult) or view.owner.name not in (*RESHAPES, _SUBVIEW, _CAST):
        return Offset()
    op = view.owner
    if op.name == _CAST:
        return Offset(mixed(op, "static_offsets", 1)[0]) if len(op.operands) == 1 else None
    offset = offset_of(op.operands[0])
    if offset is not None and op.name == _SUBVIEW:
        strides = MemRefType(op.operands[0].type).get_strides_and_offset()[0]
        for start, stride in zip(mixed(op, "static_offsets", 1), strides, strict=True):
            offset.add(start, stride)
    return offset


def loop_of(counter: Value) -> Loop | None:
    """The loop of a loop index; None if its bounds are unknown, and for other values."""
    if not isinstance(counter, BlockArgument):
        return None
    op = counter.owner.owner.operation
    if op.name == "scf.for" and counter.arg_number == 0:
        return _for(op)
    return _forall(op, counter.arg_number) if op.name == "scf.forall" else None


def _for(op: Operation) -> Loop | None:
    bounds = [sum_of(value) for value in list(op.operands)[:3]]
    if any(bound.terms for bound in bounds):
        return None
    start, end, step = (bound.constant for bound in bounds)
    return Loop(start, step, max(0, -(-(end - start) // step)))


def _forall(op: Operation, number: int) -> Loop | None:
    names = ("staticLowerBound", "staticUpperBound", "staticStep")
    numbers = [mixed(op, name, segment) for segment, name in enumerate(names)]
    if number >= len(numbers[0]):
        return None
    start, end, step = (of_all[number] for of_all in numbers)
    if not (isinstance(start, int) and isinstance(end, int) and isinstance(step, int)):
        return None
    return Loop(start, step, max(0, -(-(end - start) // step)))

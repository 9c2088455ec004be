# SPDX-License-Identifier: Apache-2.0
"""Writes the loops around int8 kernels: tiles and epilogues in registers.

The int32 accumulators are never stored: elementwise epilogues such as bias, requantization and
activation are computed in registers. The weights must be a constant, which is stored in the order
in which kernels read it. Contractions of other types, with a schedule, or with non-constant weights
stay as they are.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xtc.ir.analysis.structured import Structured
from xtc.ir.analysis.views import root
from xtc.ir.attributes import NODE
from xtc.ir.builders import numbers
from xtc.ir.builders.control import for_each
from xtc.ir.builders.numbers import Number
from xtc.ir.mlir import (
    InsertionPoint,
    MemRefType,
    Operation,
    StridedLayoutAttr,
    StringAttr,
    Value,
    memref,
)
from xtc_passes.local._functions import functions
from xtc_targets.embedded.passes._epilogue import Epilogue
from xtc_targets.embedded.passes._fusible_sums import (
    NarrowContraction,
    move_result,
    narrow_contractions,
)
from xtc_targets.embedded.passes._kernels import Kernels, Sum, TileShape, Walk
from xtc_targets.embedded.passes._last_node import last_node
from xtc_targets.embedded.passes._stored_order import Part, erase_unread, stored
from xtc_targets.embedded.passes._wide_rows import Runs, WideRows, chosen_rows, columns_beside

_SHARED = ("arith.constant", "memref.get_global", "memref.reinterpret_cast")
"""Operations that belong to no node, because several nodes may use them."""


def fuse_contractions(module: Operation, kernels: Kernels) -> None:
    """Write the loops of all candidates of a module around these kernels."""
    with module.context:
        candidates = [
            found for function in functions(module) for found in narrow_contractions(function)
        ]
        for found in candidates:
            _rewrite(module, found, kernels)
        erase_unread(module, [found.constant_name for found in candidates])


def _rewrite(module: Operation, found: NarrowContraction, kernels: Kernels) -> None:
    block = found.last.block
    node = StringAttr.get(last_node(found.last) or last_node(found.found.nest.op) or "sum")
    reader, x = found.reader, found.found.nest.op.operands[0]
    if reader is not None and root(reader.op.operands[-1]) == root(x):
        # The result would overwrite an operand that is still read.
        move_result(reader)
    before = {op.operation for op in block.operations}
    with found.last.location, InsertionPoint(found.last):
        _Rewrite(module, found, kernels).run()
    for op in block.operations:
        if op.operation not in before and op.operation.name not in _SHARED:
            op.operation.attributes[NODE] = node
    found.erase()


def _steps(nest: Structured, operand: int) -> tuple[list[int], int]:
    """The stride of each loop in an operand, in elements, and the operand's offset."""
    strides, _ = MemRefType(nest.op.operands[operand].type).get_strides_and_offset()
    row = nest.indices[operand]
    steps = [
        sum(stride * index.factor(loop) for stride, index in zip(strides, row, strict=True))
        for loop in range(len(nest.extents))
    ]
    start = sum(stride * index.offset for stride, index in zip(strides, row, strict=True))
    return steps, start


def _flat(value: Value) -> Value:
    """A buffer as one dimension of elements."""
    type = MemRefType(value.type)
    strides, offset = type.get_strides_and_offset()
    span = 1 + sum(s * (n - 1) for s, n in zip(strides, type.shape, strict=True))
    layout = StridedLayoutAttr.get(offset, [1])
    flat = MemRefType.get([span], type.element_type, layout, type.memory_space)
    return memref.reinterpret_cast(flat, value, [], [], [], [offset], [span], [1])


@dataclass(frozen=True)
class _Rewrite:
    """Writes the loops of a candidate at the insertion point."""

    module: Operation
    candidate: NarrowContraction
    kernels: Kernels

    @property
    def nest(self) -> Structured:
        return self.candidate.found.nest

    def run(self) -> None:
        channel = self._channel()
        if channel is None:
            self._tiles()
        else:
            self._channels(channel)

    def _channel(self) -> int | None:
        """The batch loop that is contiguous in both operands, or None."""
        x, w = _steps(self.nest, 0)[0], _steps(self.nest, 1)[0]
        batch = self.candidate.found.roles.batch
        return next((loop for loop in batch if x[loop] == w[loop] == 1), None)

    def _tiles(self) -> None:
        nest, roles = self.nest, self.candidate.found.roles
        x_steps, x_first = _steps(nest, 0)
        extents = nest.extents
        row = max(roles.m, key=lambda loop: (extents[loop] > 1, nest.out.index(loop)), default=None)
        column = max(roles.n, key=lambda loop: extents[loop], default=None)
        walks, along = _merged(nest, roles.k)
        most = self.kernels.rows
        wide = self._wide_runs(column, walks, along)
        if wide is not None:
            row, most = chosen_rows(nest, roles.m, self.kernels.wide)
            walks, along = (), (*walks, *along)
        outer = [loop for loop in nest.out if loop not in (row, column)]
        x = _flat(nest.op.operands[0])
        row_step = 0 if row is None else x_steps[row]
        rows_of = None if wide is None else WideRows.allocated(most, wide, row_step)
        plan = _Plan(self, outer, row, column, walks, along, rows_of, most)
        groups = plan.groups()

        def tile(positions: dict[int, Number], rows: int) -> None:
            x_at = _linear(positions, x_steps, x_first)
            if rows_of is not None:
                rows_of.fill(x, x_at, rows)
            for group in groups:
                group.emit(plan, x, x_at, positions, rows)

        def inside(positions: dict[int, Number]) -> None:
            if row is None:
                tile(positions, 1)
            else:
                _blocks(extents[row], most, lambda at, n: tile({**positions, row: at}, n))

        _nested(outer, extents, {}, inside)

    def _wide_runs(
        self, column: int | None, walks: tuple[int, ...], along: tuple[int, ...]
    ) -> Runs | None:
        """The bytes of a row of x, if widening them for all columns pays, or None."""
        nest, loops = self.nest, (*walks, *along)
        (x, _), (w, _) = _steps(nest, 0), _steps(nest, 1)
        if not self.kernels.wide or column is None or not along:
            return None
        pairs = itertools.pairwise(loops)
        if any(w[outer] != nest.extents[inner] * w[inner] for outer, inner in pairs):
            return None
        length = math.prod(nest.extents[loop] for loop in along)
        runs = Runs(tuple(Walk(nest.extents[loop], x[loop]) for loop in walks), length)
        return runs if runs.fit(nest.extents[column]) else None

    @property
    def epilogue(self) -> Epilogue:
        return Epilogue(self.nest, self.candidate.reader)

    def _channels(self, channel: int) -> None:
        nest, roles = self.nest, self.candidate.found.roles
        (x_steps, x_first), (w_steps, w_first) = _steps(nest, 0), _steps(nest, 1)
        extents = nest.extents
        memory = _flat(nest.op.operands[0]), _flat(nest.op.operands[1])
        walks = tuple(Walk(extents[loop], x_steps[loop], w_steps[loop]) for loop in roles.k)
        sums = self.kernels.channels(*memory, walks)
        outer = [loop for loop in nest.out if loop != channel]

        def block(positions: dict[int, Number], count: int) -> None:
            x_at, w_at = _linear(positions, x_steps, x_first), _linear(positions, w_steps, w_first)
            for total in sums(x_at, w_at, count, self.candidate.start):
                here = {**positions, channel: numbers.add(positions[channel], total.column)}
                self.epilogue.finish(here, total.value, channel)

        def inside(positions: dict[int, Number]) -> None:
            step = self.kernels.neighbors
            _blocks(extents[channel], step, lambda at, n: block({**positions, channel: at}, n))

        _nested(outer, extents, {}, inside)


@dataclass(frozen=True)
class _Plan:
    """The loops of a tiled contraction by role."""

    rewrite: _Rewrite
    outer: list[int]
    row: int | None
    column: int | None
    walks: tuple[int, ...]
    along: tuple[int, ...]
    wide: WideRows | None
    rows: int

    @property
    def length(self) -> int:
        return math.prod(self.rewrite.nest.extents[loop] for loop in self.along)

    def groups(self) -> list[_Group]:
        """The columns in whole tiles, then the remainder as a narrower tile."""
        most = self.rewrite.kernels.columns if self.wide is None else columns_beside(self.rows)
        extents = self.rewrite.nest.extents
        count = 1 if self.column is None else extents[self.column]
        width = min(most, count)
        found = [self._group(0, width, count // width)]
        if count % width:
            found.append(self._group(count - count % width, count % width, 1))
        return found

    def _group(self, first: int, width: int, count: int) -> _Group:
        nest, kernels = self.rewrite.nest, self.rewrite.kernels
        steps, start = _steps(nest, 1)
        batch = [loop for loop in self.outer if steps[loop]]
        column = 0 if self.column is None else steps[self.column]
        along = steps[self.along[-1]] if self.along else 0
        around = [(nest.extents[loop], steps[loop]) for loop in batch] + [(count, width * column)]
        around += [(nest.extents[loop], steps[loop]) for loop in self.walks]
        begin = start + first * column
        shape = TileShape(width, self.length, kernels.word(width))
        module, weights = self.rewrite.module, self.rewrite.candidate.weights

        def part(inner: list[tuple[int, int]], at: int) -> Value:
            sizes, strides = zip(*around, *inner, strict=True)
            return stored(module, weights, Part(sizes, strides, begin + at))

        in_words, rest = None, None
        if shape.words:
            word = shape.word
            in_words = part([(shape.words, word * along), (width, column), (word, along)], 0)
        if shape.left:
            inner = [(width, column), (shape.left, along)]
            rest = part(inner[::-1] if kernels.in_lanes else inner, shape.whole * along)
        return _Group(first, count, tuple(batch), shape, in_words, rest)


@dataclass(frozen=True)
class _Group:
    """Columns in `count` tiles of one width, and their weights."""

    first: int
    count: int
    batch: tuple[int, ...]
    shape: TileShape
    words: Value | None
    rest: Value | None

    def emit(
        self, plan: _Plan, x: Value, x_at: Number, positions: dict[int, Number], rows: int
    ) -> None:
        """Emit the loops over the tiles at one position of the rows."""
        nest, rewrite, width = plan.rewrite.nest, plan.rewrite, self.shape.width
        x_steps, _ = _steps(nest, 0)
        walks = tuple(Walk(nest.extents[loop], x_steps[loop]) for loop in plan.walks)
        row_step = 0 if plan.row is None else x_steps[plan.row]
        if plan.wide is None:
            memory = x, self.words, self.rest
            narrow = rewrite.kernels.tile(memory, self.shape, rows, row_step, walks)
            sums: Callable[[Number, Value], list[Sum]] = functools.partial(narrow, x_at)
        else:
            sums = plan.wide.tile(self.words, self.rest, self.shape, rows)
        block: Number = 0
        for loop in self.batch:
            block = numbers.add(numbers.multiply(block, nest.extents[loop]), positions[loop])

        def tile(number: Number, _: int) -> None:
            at = numbers.add(numbers.multiply(block, self.count), number)
            first = numbers.add(numbers.multiply(number, width), self.first)
            for total in sums(at, rewrite.candidate.start):
                here = _positions(plan, positions, total, first)
                rewrite.epilogue.finish(here, total.value, plan.column)

        _blocks(self.count, 1, tile)


def _positions(
    plan: _Plan, positions: dict[int, Number], total: Sum, first: Number
) -> dict[int, Number]:
    """The position of a sum's result, or of the first of several."""
    here = dict(positions)
    if plan.row is not None:
        here[plan.row] = numbers.add(positions[plan.row], total.row)
    if plan.column is not None:
        here[plan.column] = numbers.add(first, total.column)
    return here


def _merged(nest: Structured, loops: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Reduction loops in the order of x: those over rows, and those that are contiguous together.

    The loops of the second kind form one contiguous walk through x, with even steps in w.
    """
    (x, _), (w, _) = _steps(nest, 0), _steps(nest, 1)
    left = sorted((loop for loop in loops if nest.extents[loop] > 1), key=lambda loop: -x[loop])
    if not left:
        return (), ()
    if x[left[-1]] != 1:
        return tuple(left), ()
    along = [left.pop()]
    size = nest.extents[along[0]]
    while left and x[left[-1]] == size and w[left[-1]] == size * w[along[-1]]:
        loop = left.pop()
        along.insert(0, loop)
        size *= nest.extents[loop]
    return tuple(left), tuple(along)


def _linear(positions: dict[int, Number], steps: Sequence[int], first: int) -> Number:
    return numbers.add(
        numbers.linear_offset([(position, steps[loop]) for loop, position in positions.items()]),
        first,
    )


def _nested(
    loops: Sequence[int],
    extents: Sequence[int],
    positions: dict[int, Number],
    body: Callable[[dict[int, Number]], None],
) -> None:
    """Loops around a body, which receives the index of each."""
    if not loops:
        body(positions)
        return
    loop, *rest = loops
    _blocks(extents[loop], 1, lambda at, _: _nested(rest, extents, {**positions, loop: at}, body))


def _blocks(count: int, size: int, body: Callable[[Number, int], None]) -> None:
    """A loop over whole blocks, then the remainder."""
    whole = count // size

    def inside(index: Value, _: list[Value], ip: InsertionPoint) -> list[Value]:
        with ip:
            body(index, size)
        return []

    if whole == 1:
        body(0, size)
    elif whole:
        for_each(0, whole * size, size, [], inside)
    if count % size:
        body(whole * size, count % size)

# SPDX-License-Identifier: Apache-2.0
"""fuse-narrow-contractions: int8 contractions and what follows them become loops over registers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.structured import Structured, body_operations
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
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass
from xtc_passes.local._functions import functions
from xtc_targets.embedded.passes._fusible_sums import (
    NarrowContraction,
    move_result,
    narrow_contractions,
)
from xtc_targets.embedded.passes._last_node import last_node
from xtc_targets.embedded.passes._narrow_kernels import WORD, Channels, Tile, Walk
from xtc_targets.embedded.passes._stored_order import Part, erase_unread, stored


@dataclass(frozen=True)
class FuseNarrowContractions(Pass):
    """Compute tiles of int8 contractions in registers, and at once what reads their sums.

    The sums in int32 are in no memory: what follows element by element, as bias, requantisation and
    activation, is computed of each while it is in a register. The weights must be a constant; they
    are stored in the order in which tiles read them. With `dual`, words of four elements are split
    into halves, and instructions sum two products at once (SXTB16, SMLAD).

    Before:
        %a = memref.alloc() : memref<1x8x8x16xi32>
        linalg.fill ins(%zero) outs(%a)
        linalg.conv_2d_nhwc_hwcf ins(%x, %w) outs(%a)
        linalg.generic ins(%a, %bias) outs(%y : memref<1x8x8x16xi8>)
    After:
        scf.for %h { scf.for %w step 2 { scf.for %f step 2 {
          %s:4 = scf.for %r { scf.for %k step 4 { .. llvm.call_intrinsic "llvm.arm.smlad" } }
          memref.store .. of each of the four } } }

    Contractions of other types, with a schedule, or whose weights are no constant stay as they are.

    Attributes:
        dual: whether the core has dual 16-bit multiply-adds.
        rows: positions of a tile.
        columns: filters of a tile.
    """

    name: ClassVar[str] = "fuse-narrow-contractions"
    dual: bool = False
    rows: int = 1
    columns: int = 1

    def __post_init__(self) -> None:
        require_positive(self)

    def run(self, module: Operation) -> None:
        with module.context:
            candidates = [
                found for function in functions(module) for found in narrow_contractions(function)
            ]
            for found in candidates:
                self._rewrite(module, found)
            erase_unread(module, [found.constant_name for found in candidates])

    def _rewrite(self, module: Operation, found: NarrowContraction) -> None:
        block = found.last.block
        node = StringAttr.get(last_node(found.last) or last_node(found.found.nest.op) or "sum")
        reader, x = found.reader, found.found.nest.op.operands[0]
        if reader is not None and root(reader.op.operands[-1]) == root(x):
            # It would be written while it is read.
            move_result(reader)
        before = {op.operation for op in block.operations}
        with found.last.location, InsertionPoint(found.last):
            _Rewrite(module, found, self).run()
        for op in block.operations:
            if op.operation not in before and op.operation.name == "scf.for":
                op.operation.attributes[NODE] = node
        found.erase()


def _steps(nest: Structured, operand: int) -> tuple[list[int], int]:
    """How far each loop moves in an operand's memory, in elements, and where it begins."""
    strides, _ = MemRefType(nest.op.operands[operand].type).get_strides_and_offset()
    row = nest.indices[operand]
    steps = [
        sum(stride * index.factor(loop) for stride, index in zip(strides, row, strict=True))
        for loop in range(len(nest.extents))
    ]
    start = sum(stride * index.offset for stride, index in zip(strides, row, strict=True))
    return steps, start


def _flat(value: Value) -> Value:
    """A buffer as one dimension of elements, from its first on."""
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
    options: FuseNarrowContractions

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
        """The batch loop along neighbouring bytes of both operands; None where there is none."""
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
        outer = [loop for loop in nest.out if loop not in (row, column)]
        x = _flat(nest.op.operands[0])
        plan = _Plan(self, outer, row, column, walks, along)
        groups = plan.groups()

        def tile(places: dict[int, Number], rows: int) -> None:
            x_at = _linear(places, x_steps, x_first)
            for group in groups:
                group.emit(plan, x, x_at, places, rows)

        def inside(places: dict[int, Number]) -> None:
            if row is None:
                tile(places, 1)
            else:
                _blocks(extents[row], self.options.rows, lambda at, n: tile({**places, row: at}, n))

        _nested(outer, extents, {}, inside)

    def finish(self, places: dict[int, Number], total: Value) -> None:
        """Compute what follows of one sum, and store it."""
        reader = self.candidate.reader
        if reader is None:
            out = self.nest.op.operands[2]
            at = [numbers.as_value(_index(index.factors, index.offset, places))
                  for index in self.nest.indices[2]]  # fmt: skip
            memref.store(total, out, at)
            return
        sums = self.nest.op.operands[2]
        number = next(n for n, v in enumerate(reader.op.operands) if v == sums)
        loops: dict[int, Number] = {
            index.loop: places.get(own.loop, 0)
            for index, own in zip(reader.indices[number], self.nest.indices[2], strict=True)
            if index.loop is not None and own.loop is not None
        }
        _inlined(reader, number, total, loops)

    def _channels(self, channel: int) -> None:
        nest, roles = self.nest, self.candidate.found.roles
        (x_steps, x_first), (w_steps, w_first) = _steps(nest, 0), _steps(nest, 1)
        extents = nest.extents
        kernel = Channels(
            _flat(nest.op.operands[0]),
            _flat(nest.op.operands[1]),
            tuple(Walk(extents[loop], x_steps[loop]) for loop in roles.k),
            tuple(w_steps[loop] for loop in roles.k),
            self.options.dual,
        )
        outer = [loop for loop in nest.out if loop != channel]

        def block(places: dict[int, Number], count: int) -> None:
            x_at, w_at = _linear(places, x_steps, x_first), _linear(places, w_steps, w_first)
            totals = kernel.sums(x_at, w_at, count, self.candidate.start)
            for place, total in enumerate(totals):
                self.finish({**places, channel: numbers.add(places[channel], place)}, total)

        def inside(places: dict[int, Number]) -> None:
            step = WORD if self.options.dual else 1
            _blocks(extents[channel], step, lambda at, n: block({**places, channel: at}, n))

        _nested(outer, extents, {}, inside)


@dataclass(frozen=True)
class _Plan:
    """The loops of a tiled contraction by what is done with them."""

    rewrite: _Rewrite
    outer: list[int]
    row: int | None
    column: int | None
    walks: tuple[int, ...]
    along: tuple[int, ...]

    @property
    def length(self) -> int:
        return math.prod(self.rewrite.nest.extents[loop] for loop in self.along)

    def groups(self) -> list[_Group]:
        """The columns in whole tiles, then what is left of them as a narrower tile."""
        most = self.rewrite.options.columns
        extents = self.rewrite.nest.extents
        count = 1 if self.column is None else extents[self.column]
        width = min(most, count)
        found = [self._group(0, width, count // width)]
        if count % width:
            found.append(self._group(count - count % width, count % width, 1))
        return found

    def _group(self, first: int, width: int, count: int) -> _Group:
        nest, options = self.rewrite.nest, self.rewrite.options
        steps, start = _steps(nest, 1)
        length = self.length
        batch = [loop for loop in self.outer if steps[loop]]
        column = 0 if self.column is None else steps[self.column]
        along = steps[self.along[-1]] if self.along else 0
        sizes = [nest.extents[loop] for loop in batch] + [count]
        strides = [steps[loop] for loop in batch] + [width * column]
        sizes += [nest.extents[loop] for loop in self.walks]
        strides += [steps[loop] for loop in self.walks]
        begin = start + first * column
        words = length // WORD if options.dual else 0
        left = length - words * WORD
        module, weights = self.rewrite.module, self.rewrite.candidate.weights

        def part(sizes_behind: list[int], strides_behind: list[int], at: int) -> Value:
            whole = tuple(sizes + sizes_behind), tuple(strides + strides_behind)
            return stored(module, weights, Part(*whole, begin + at))

        in_words, rest = None, None
        if words:
            in_words = part([words, width, WORD], [WORD * along, column, along], 0)
        if left:
            rest = part([width, left], [column, along], words * WORD * along)
        return _Group(first, width, count, tuple(batch), in_words, rest)


@dataclass(frozen=True)
class _Group:
    """Columns in `count` tiles of one width, and their weights."""

    first: int
    width: int
    count: int
    batch: tuple[int, ...]
    words: Value | None
    rest: Value | None

    def emit(
        self, plan: _Plan, x: Value, x_at: Number, places: dict[int, Number], rows: int
    ) -> None:
        """Loops over the tiles at one place of the rows."""
        nest, rewrite = plan.rewrite.nest, plan.rewrite
        x_steps, _ = _steps(nest, 0)
        kernel = Tile(
            x,
            self.words,
            self.rest,
            rows,
            self.width,
            0 if plan.row is None else x_steps[plan.row],
            tuple(Walk(nest.extents[loop], x_steps[loop]) for loop in plan.walks),
            plan.length,
            rewrite.options.dual,
        )
        block: Number = 0
        for loop in self.batch:
            block = numbers.add(numbers.multiply(block, nest.extents[loop]), places[loop])

        def tile(number: Number, _: int) -> None:
            at = numbers.add(numbers.multiply(block, self.count), number)
            totals = kernel.sums(x_at, at, rewrite.candidate.start)
            first = numbers.add(numbers.multiply(number, self.width), self.first)
            for place, total in enumerate(totals):
                row, column = divmod(place, self.width)
                here = dict(places)
                if plan.row is not None:
                    here[plan.row] = numbers.add(places[plan.row], row)
                if plan.column is not None:
                    here[plan.column] = numbers.add(first, column)
                rewrite.finish(here, total)

        _blocks(self.count, 1, tile)


def _merged(nest: Structured, loops: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Reduction loops in the order of x: those that walk rows, and those along one row together.

    The loops of the second kind are one walk along neighbouring bytes of x, with even steps in w.
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


def _linear(places: dict[int, Number], steps: Sequence[int], first: int) -> Number:
    return numbers.add(
        numbers.linear_offset([(place, steps[loop]) for loop, place in places.items()]), first
    )


def _index(factors: Sequence[tuple[int, int]], offset: int, places: dict[int, Number]) -> Number:
    return numbers.add(
        numbers.linear_offset([(places.get(loop, 0), factor) for loop, factor in factors]), offset
    )


def _nested(
    loops: Sequence[int],
    extents: Sequence[int],
    places: dict[int, Number],
    body: Callable[[dict[int, Number]], None],
) -> None:
    """Loops around a body, which gets the place of each."""
    if not loops:
        body(places)
        return
    loop, *rest = loops
    _blocks(extents[loop], 1, lambda at, _: _nested(rest, extents, {**places, loop: at}, body))


def _blocks(count: int, size: int, body: Callable[[Number, int], None]) -> None:
    """A loop over whole blocks, then what is left."""
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


def _inlined(reader: Structured, number: int, total: Value, places: dict[int, Number]) -> None:
    """The body of an elementwise operation, on one element of each operand."""
    op = reader.op
    known: dict[Value, Value] = {}
    for position, argument in enumerate(reader.body.arguments):
        if position == number:
            known[argument] = total
        elif any(True for _ in argument.uses):
            known[argument] = _element(reader, position, places)
    for inner in body_operations(op):
        if inner.name == "linalg.yield":
            value = known.get(inner.operands[0], inner.operands[0])
            memref.store(value, op.operands[-1], _indices_of(reader, reader.destination, places))
            return
        copy = inner.clone()
        for position, operand in enumerate(inner.operands):
            copy.operands[position] = known.get(operand, operand)
        known |= zip(inner.results, copy.results, strict=True)


def _element(reader: Structured, operand: int, places: dict[int, Number]) -> Value:
    value = reader.op.operands[operand]
    if not isinstance(value.type, MemRefType):
        return value
    return memref.load(value, _indices_of(reader, operand, places))


def _indices_of(reader: Structured, operand: int, places: dict[int, Number]) -> list[Value]:
    row = reader.indices[operand]
    return [numbers.as_value(_index(index.factors, index.offset, places)) for index in row]

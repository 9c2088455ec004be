# SPDX-License-Identifier: Apache-2.0
"""fuse-narrow-contractions: int8 contractions and what follows them become loops over registers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from xtc.ir.analysis.contractions import Contraction, contraction
from xtc.ir.analysis.effects import written_memrefs
from xtc.ir.analysis.structured import Structured, body_operations, structured
from xtc.ir.analysis.views import VIEWS, root
from xtc.ir.attributes import NODE
from xtc.ir.builders import numbers
from xtc.ir.builders.control import for_each
from xtc.ir.builders.numbers import Number
from xtc.ir.mlir import (
    InsertionPoint,
    MemRefType,
    Operation,
    OpResult,
    StridedLayoutAttr,
    StringAttr,
    Value,
    all_operations,
    memref,
)
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass
from xtc_passes.local._functions import functions
from xtc_targets.embedded.passes._narrow_kernels import WORD, Channels, Tile, Walk
from xtc_targets.embedded.passes._nodes import last_node
from xtc_targets.embedded.passes._stored_order import Part, constant_of, erase_unread, stored


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
            candidates = [found for function in functions(module) for found in _found(function)]
            for found in candidates:
                self._rewrite(module, found)
            erase_unread(module, [found.constant_name for found in candidates])

    def _rewrite(self, module: Operation, found: _Candidate) -> None:
        block = found.last.block
        node = StringAttr.get(last_node(found.last) or last_node(found.found.nest.op) or "sum")
        reader, x = found.reader, found.found.nest.op.operands[0]
        if reader is not None and root(reader.op.operands[-1]) == root(x):
            # It would be written while it is read.
            _move(reader)
        before = {op.operation for op in block.operations}
        with found.last.location, InsertionPoint(found.last):
            _Rewrite(module, found, self).run()
        for op in block.operations:
            if op.operation not in before and op.operation.name == "scf.for":
                op.operation.attributes[NODE] = node
        found.erase()


@dataclass(frozen=True, eq=False)
class _Candidate:
    """A contraction of int8 whose sums start at a constant, and what reads them.

    Attributes:
        found: the contraction; operand 0 is x, operand 1 a constant.
        fill: what writes the first values.
        start: the first value.
        reader: the only reader of the sums, element by element; None where they are the result.
        weights: the constant.
    """

    found: Contraction
    fill: Operation
    start: Value
    reader: Structured | None
    weights: Operation

    @property
    def last(self) -> Operation:
        return self.found.nest.op if self.reader is None else self.reader.op

    @property
    def constant_name(self) -> str:
        return str(StringAttr(self.weights.attributes["sym_name"]).value)

    def erase(self) -> None:
        """Erase what was rewritten, and the buffer of the sums where it is not the result."""
        sums = self.found.nest.op.operands[2]
        if self.reader is not None:
            self.reader.op.erase()
        self.found.nest.op.erase()
        self.fill.erase()
        users = [use.owner.operation for use in sums.uses]
        if _is_plain_alloc(sums) and all(user.name == "memref.dealloc" for user in users):
            for user in users:
                user.erase()
            sums.owner.operation.erase()


def _found(function: Operation) -> Iterator[_Candidate]:
    """The candidates of a function; what reads the sums of several belongs to the last."""
    claimed: set[Operation] = set()
    for op in reversed(all_operations(function)):
        if op.name.startswith("linalg.") and op.name != "linalg.yield":
            found = _candidate(op)
            if found is not None and found.reader is not None:
                if found.reader.op in claimed:
                    found = replace(found, reader=None)
                else:
                    claimed.add(found.reader.op)
            if found is not None:
                yield found


def _candidate(op: Operation) -> _Candidate | None:
    nest = structured(op)
    found = None if nest is None else contraction(nest)
    if nest is None or found is None or found.widenings != ("arith.extsi", "arith.extsi"):
        return None
    types = [MemRefType(v.type) for v in op.operands if isinstance(v.type, MemRefType)]
    if [str(type.element_type) for type in types] != ["i8", "i8", "i32"]:
        return None
    weights = constant_of(op.operands[1])
    if weights is None or not all(map(_has_steps, op.operands)):
        return None
    fill, readers = _around(op)
    if fill is None:
        return None
    reader = _reader(nest, readers)
    return _Candidate(found, fill, fill.operands[0], reader, weights)


def _has_steps(value: Value) -> bool:
    """Whether the strides and the offset of a buffer are known."""
    strides, offset = MemRefType(value.type).get_strides_and_offset()
    dynamic = MemRefType.get_dynamic_stride_or_offset()
    return dynamic not in (*strides, offset)


def _is_plain_alloc(value: Value) -> bool:
    return isinstance(value, OpResult) and value.owner.name == "memref.alloc"


def _around(op: Operation) -> tuple[Operation | None, list[Operation]]:
    """The fill that writes the first values of the sums, and what uses the sums afterwards.

    The buffer may have other contents before the fill, and after a later one.
    """
    order = _order(op)
    users = [use.owner.operation for use in op.operands[2].uses]
    if any(user not in order for user in users):
        return None, []
    users = sorted(set(users), key=lambda user: order[user])
    users = [user for user in users if user.name != "memref.dealloc"]
    here = users.index(op)
    before, after = users[:here], users[here + 1 :]
    if not before or before[-1].name != "linalg.fill":
        return None, []
    ends = [n for n, user in enumerate(after) if _overwrites(user, op.operands[2])]
    return before[-1], after[: ends[0]] if ends else after


def _overwrites(op: Operation, buffer: Value) -> bool:
    return op.name == "linalg.fill" and op.operands[1] == buffer


def _reader(nest: Structured, readers: Sequence[Operation]) -> Structured | None:
    """The only reader of the sums, where nothing else uses them."""
    op, sums = nest.op, nest.op.operands[2]
    if not _is_plain_alloc(sums) or len(readers) != 1:
        return None
    reader = structured(readers[0])
    if reader is None or reader.reductions or reader.op.name != "linalg.generic":
        return None
    numbers_read = [n for n, value in enumerate(reader.op.operands) if value == sums]
    if len(numbers_read) != 1 or numbers_read[0] == reader.destination:
        return None
    row = [index.loop for index in reader.indices[numbers_read[0]]]
    if sorted(loop for loop in row if loop is not None) != sorted(reader.out) or None in row:
        return None
    if any(inner.name == "linalg.index" for inner in body_operations(reader.op)):
        return None
    order = _order(op)
    between = [inner for inner in order if order[op] < order[inner] < order[reader.op]]
    touched = {root(value) for inner in between for value in written_memrefs(inner)}
    x, y = op.operands[0], reader.op.operands[-1]
    if root(x) in touched or (root(x) == root(y) and not _can_move(reader)):
        return None
    return reader


def _can_move(reader: Structured) -> bool:
    """Whether the result of an operation can be in a buffer that is new there.

    The operation writes all of it, and what uses it afterwards names the buffer itself.
    """
    y = reader.op.operands[-1]
    if not _is_plain_alloc(y) or reader.reads_destination:
        return False
    order = _order(reader.op)
    last = order[reader.op]
    before = [op for op in (_in_block(use.owner.operation, order) for use in y.uses)
              if op is None or order[op] < last]  # fmt: skip
    return all(op is not None and op.name not in VIEWS for op in before)


def _in_block(op: Operation, order: Mapping[Operation, int]) -> Operation | None:
    """The operation of a block that is, or contains, `op`."""
    while op not in order and op.parent is not None:
        op = op.parent.operation
    return op if op in order else None


def _move(reader: Structured) -> None:
    """Let an operation, and what follows it, use a new buffer for its result."""
    order = _order(reader.op)
    y, start = reader.op.operands[-1], order[reader.op]
    # Before anything changes: operations are equal as long as their operands are.
    later = [
        use
        for use in y.uses
        if (around := _in_block(use.owner.operation, order)) is not None and order[around] >= start
    ]
    with reader.op.location, InsertionPoint(reader.op):
        new = memref.alloc(y.type, [], [])
    for use in later:
        use.owner.operation.operands[use.operand_number] = new


def _order(op: Operation) -> dict[Operation, int]:
    return {inner.operation: n for n, inner in enumerate(op.block.operations)}


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
    candidate: _Candidate
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
            memref.store(value, op.operands[-1], _place(reader, reader.destination, places))
            return
        copy = inner.clone()
        for position, operand in enumerate(inner.operands):
            copy.operands[position] = known.get(operand, operand)
        known |= zip(inner.results, copy.results, strict=True)


def _element(reader: Structured, operand: int, places: dict[int, Number]) -> Value:
    value = reader.op.operands[operand]
    if not isinstance(value.type, MemRefType):
        return value
    return memref.load(value, _place(reader, operand, places))


def _place(reader: Structured, operand: int, places: dict[int, Number]) -> list[Value]:
    row = reader.indices[operand]
    return [numbers.as_value(_index(index.factors, index.offset, places)) for index in row]

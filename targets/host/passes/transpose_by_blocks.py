# SPDX-License-Identifier: Apache-2.0
"""transpose-by-blocks: transposes square blocks in registers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.structured import (
    Structured,
    body_operations,
    element_bits,
    is_shaped,
    structured,
)
from xtc.ir.builders.affine import shifted
from xtc.ir.builders.control import new_loop
from xtc.ir.builders.numbers import index_constant
from xtc.ir.builders.slices import subview
from xtc.ir.builders.vector_pieces import broadcast
from xtc.ir.mlir import (
    InsertionPoint,
    IntegerType,
    MemRefType,
    Operation,
    Value,
    VectorType,
    all_operations,
    memref,
    scf,
    vector,
)
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass
from xtc_targets.host.passes._square_blocks import computed, runs_on_vectors, transposed

_WORD = 32
_FEWEST = 4  # least words of a vector


@dataclass(frozen=True)
class TransposeByBlocks(Pass):
    """Transpose square blocks in registers, in elementwise operations with transposed operands.

    A word is an element of 32 bits, or several narrower elements that are contiguous in both
    buffers of a copy. Remainders are transposed by smaller blocks, or by the original operation if
    they have fewer than four rows or columns. The body computes on rows of the result; operands
    without a row dimension, such as scales of channels, are broadcast along it.

    Before (bits=128):
        linalg.transpose ins(%a : memref<64x64xf32>) outs(%b : memref<64x64xf32>)
    After:
        scf.for %i = ... step 4 { scf.for %j = ... step 4 {
          %row = vector.load %a[%j, %i] : memref<64x64xf32>, vector<4xf32>
          ... %column = vector.shuffle ...
          vector.store %column, %b[%i, %j] : memref<64x64xf32>, vector<4xf32> } }

    Attributes:
        bits: width of a vector register.
    """

    name: ClassVar[str] = "transpose-by-blocks"
    bits: int = 128

    def __post_init__(self) -> None:
        require_positive(self)

    def run(self, module: Operation) -> None:
        left = [op for op in all_operations(module) if op.name.startswith("linalg.")]
        with module.context:
            while left:
                op = left.pop()
                turn = _transposition(op)
                lanes = 0 if turn is None else turn.lanes(self.bits // _WORD)
                if turn is not None and lanes >= _FEWEST:
                    with op.location:
                        left += _rewrite(turn, lanes, InsertionPoint(op))
                    op.erase()


@dataclass(frozen=True)
class _Transposition:
    """target[..., column, row] = f(source[..., row, column], ...), on words of elements.

    Attributes:
        nest: the operation.
        row: the loop over contiguous words of the target.
        column: the loop over contiguous words of the sources.
        group: number of elements of a word.
        sources: the operands that are transposed.
    """

    nest: Structured
    row: int
    column: int
    group: int
    sources: tuple[int, ...]

    def lanes(self, most: int) -> int:
        """The side of the largest block, a power of two."""
        sides = (self.nest.extents[self.row], self.nest.extents[self.column], most)
        return 1 << max(min(sides), 1).bit_length() - 1

    @property
    def may_repeat(self) -> bool:
        """Whether elements may be computed twice: no operand shares the buffer of the result."""
        return not any(
            self.nest.uses_loop(number, self.row)
            for number in range(self.nest.destination)
            if number not in self.sources
        )

    def loops(self, operand: int) -> list[int]:
        """The loop over each dimension of an operand."""
        return _loops(self.nest, operand)


def _loops(nest: Structured, operand: int) -> list[int]:
    return [index.loop or 0 for index in nest.indices[operand]]


def _transposition(op: Operation) -> _Transposition | None:
    nest = structured(op)
    if nest is None or nest.reductions or nest.reads_destination or not runs_on_vectors(nest):
        return None
    if not all(_is_plain(nest, number) for number in range(len(nest.indices))):
        return None
    return _of_pairs(nest) or _of_words(nest)


def _is_plain(nest: Structured, number: int) -> bool:
    """Whether each dimension of a buffer is indexed by a different loop."""
    loops = [index.loop for index in nest.indices[number]]
    value = nest.op.operands[number]
    return (
        None not in loops
        and len({*loops}) == len(loops)
        and (isinstance(value.type, MemRefType) or not loops)
    )


def _of_words(nest: Structured) -> _Transposition | None:
    """A transposition of elements that are words, or None."""
    row = nest.out[-1] if nest.out else -1
    numbers = range(nest.destination)
    ends = {_loops(nest, number)[-1] for number in numbers if nest.uses_loop(number, row)} - {row}
    if len(ends) != 1 or not _has_words(nest.op.operands[nest.destination], 1):
        return None
    (column,) = ends
    reading = [number for number in numbers if nest.uses_loop(number, row)]
    sources = tuple(number for number in reading if _loops(nest, number)[-1] == column)
    fits = all(_has_words(nest.op.operands[number], 1) for number in reading)
    words = all(element_bits(nest.op.operands[number]) == _WORD for number in sources)
    return _Transposition(nest, row, column, 1, sources) if fits and words else None


def _of_pairs(nest: Structured) -> _Transposition | None:
    """A transposing copy of groups of contiguous elements that form a word, or None."""
    if len(nest.indices) != 2 or not _only_copies(nest.op):
        return None
    source, target = _loops(nest, 0), _loops(nest, 1)
    if len(source) < 3 or len(source) != len(target) or source[-1] != target[-1]:
        return None
    group, column, row = nest.extents[source[-1]], source[-2], target[-2]
    if row == column or element_bits(nest.op.operands[0]) * group != _WORD:
        return None
    fits = all(_has_words(value, group) for value in nest.op.operands)
    return _Transposition(nest, row, column, group, (0,)) if fits else None


def _only_copies(op: Operation) -> bool:
    body = body_operations(op)
    return len(body) == 1 and list(body[0].operands) == [op.regions[0].blocks[0].arguments[0]]


def _has_words(value: Value, group: int) -> bool:
    """Whether the words of a buffer's last dimensions are contiguous."""
    strides, _ = MemRefType(value.type).get_strides_and_offset()
    return list(strides)[-1:] == [1] if group == 1 else list(strides)[-2:] == [group, 1]


def _rewrite(turn: _Transposition, lanes: int, ip: InsertionPoint) -> list[Operation]:
    """Transpose by blocks of this side; returns copies of the operation for the remainders."""
    extents = list(turn.nest.extents)
    whole = {loop: extents[loop] // lanes * lanes for loop in (turn.row, turn.column)}
    rest = [
        *_rest(turn, turn.column, whole[turn.column], {}, ip),
        *_rest(turn, turn.row, whole[turn.row], {turn.column: whole[turn.column]}, ip),
    ]
    counters: dict[int, Value] = {}
    order = [loop for loop in range(len(extents)) if turn.group == 1 or loop != _last(turn)]
    order.sort(key=lambda loop: (loop in whole, loop == turn.row))
    blocks = []
    for loop in order:
        step = lanes if loop in whole else 1
        created = new_loop(0, whole.get(loop, extents[loop]), step, ip=ip)
        block = created.op.regions[0].blocks[0]
        counters[loop] = created.index
        blocks.append(block)
        ip = InsertionPoint(block)
    with ip:
        if turn.group > 1:
            counters[_last(turn)] = index_constant(0, ip)
        _write_block(turn, lanes, counters)
    for block in blocks:
        scf.yield_([], ip=InsertionPoint(block))
    return rest


def _last(turn: _Transposition) -> int:
    """The loop over the elements of a word."""
    return turn.loops(0)[-1]


def _rest(
    turn: _Transposition, loop: int, start: int, ends: dict[int, int], ip: InsertionPoint
) -> list[Operation]:
    """A copy of the operation for the iterations of `loop` from `start` on, if there are any."""
    extents = turn.nest.extents
    if start == extents[loop]:
        return []
    if turn.may_repeat:
        start = min(start, extents[loop] - _side(extents[loop] - start))
    sizes = {**dict(enumerate(extents)), **ends, loop: extents[loop] - start}
    clone = turn.nest.op.clone(ip=ip).operation
    for operand, value in enumerate(turn.nest.op.operands):
        loops = turn.loops(operand)
        offsets = [start if walked == loop else 0 for walked in loops]
        lengths = [sizes[walked] for walked in loops]
        if loops:
            part = subview(value, offsets, lengths, [1] * len(loops), InsertionPoint(clone))
            clone.operands[operand] = part
    return [clone]


def _side(rest: int) -> int:
    """The side of the smallest block that covers a remainder."""
    return max(_FEWEST, 1 << (rest - 1).bit_length())


def _write_block(turn: _Transposition, lanes: int, counters: dict[int, Value]) -> None:
    """Compute and write `lanes` rows of the target."""
    nest = turn.nest
    columns = {number: _columns(turn, number, lanes, counters) for number in turn.sources}
    target = nest.op.operands[nest.destination]
    for lane in range(lanes):
        here = {**counters, turn.column: shifted(counters[turn.column], lane)}
        arguments = {
            number: columns[number][lane] if number in columns else _read(turn, number, lanes, here)
            for number in range(nest.destination)
        }
        if turn.group > 1:
            _, in_memory = _types(turn, 0, lanes)
            result = vector.bitcast(in_memory, arguments[0])
        else:
            result = computed(nest, arguments, lanes)
        vector.store(result, target, _indices(turn, nest.destination, here))


def _columns(
    turn: _Transposition, number: int, lanes: int, counters: dict[int, Value]
) -> list[Value]:
    """The columns of a block of a transposed operand."""
    words, in_memory = _types(turn, number, lanes)
    rows = []
    for lane in range(lanes):
        here = {**counters, turn.row: shifted(counters[turn.row], lane)}
        operand = turn.nest.op.operands[number]
        loaded = vector.load(in_memory, operand, _indices(turn, number, here))
        rows.append(loaded if turn.group == 1 else vector.bitcast(words, loaded))
    return transposed(rows)


def _types(turn: _Transposition, number: int, lanes: int) -> tuple[VectorType, VectorType]:
    """The vector types of an operand's words and of its elements."""
    element = MemRefType(turn.nest.op.operands[number].type).element_type
    in_memory = VectorType.get([lanes * turn.group], element)
    if turn.group == 1:
        return in_memory, in_memory
    return VectorType.get([lanes], IntegerType.get_signless(_WORD)), in_memory


def _read(turn: _Transposition, number: int, lanes: int, here: dict[int, Value]) -> Value:
    """The elements of an operand that is not transposed along a row of the target."""
    value = turn.nest.op.operands[number]
    indices = _indices(turn, number, here)
    if turn.nest.uses_loop(number, turn.row):
        return vector.load(_types(turn, number, lanes)[1], value, indices)
    return broadcast(memref.load(value, indices) if is_shaped(value) else value, lanes)


def _indices(turn: _Transposition, operand: int, counters: dict[int, Value]) -> list[Value]:
    return [counters[loop] for loop in turn.loops(operand)]

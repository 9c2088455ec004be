# SPDX-License-Identifier: Apache-2.0
"""transpose-by-blocks: transposing copies of words read and write whole vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.structured import Structured, body_operations, element_bits, structured
from xtc.ir.builders.affine import shifted
from xtc.ir.builders.control import new_loop
from xtc.ir.builders.numbers import index_constant
from xtc.ir.builders.slices import subview
from xtc.ir.mlir import (
    InsertionPoint,
    IntegerType,
    MemRefType,
    Operation,
    Value,
    VectorType,
    all_operations,
    scf,
    vector,
)
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass

_WORD = 32


@dataclass(frozen=True)
class TransposeByBlocks(Pass):
    """Transpose square blocks in registers, where source and target differ in their order.

    A word is an element of 32 bits, or several narrower elements that are neighbours in both
    buffers. Remainders at the ends are copied by the original operation.

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
        lanes = self.bits // _WORD
        with module.context:
            found = [op for op in all_operations(module) if op.name.startswith("linalg.")]
            for op in found:
                copy = _transposition(op)
                if copy is not None and lanes > 1 and min(copy.rows, copy.columns) >= lanes:
                    with op.location:
                        _rewrite(copy, lanes, InsertionPoint(op))
                    op.erase()


@dataclass(frozen=True)
class _Transposition:
    """target[..., column, row] = source[..., row, column], perhaps of words of several elements.

    Attributes:
        nest: the operation.
        row: the loop along neighbouring words of the target.
        column: the loop along neighbouring words of the source.
        group: elements of a word.
    """

    nest: Structured
    row: int
    column: int
    group: int

    @property
    def rows(self) -> int:
        return self.nest.extents[self.row]

    @property
    def columns(self) -> int:
        return self.nest.extents[self.column]

    def loops(self, operand: int) -> list[int]:
        """The loop over each dimension of an operand."""
        return [index.loop or 0 for index in self.nest.indices[operand]]


def _transposition(op: Operation) -> _Transposition | None:
    nest = structured(op)
    if nest is None or len(nest.indices) != 2 or not _only_copies(op):
        return None
    orders = [[index.loop for index in row] for row in nest.indices]
    if sorted(map(str, orders[0])) != sorted(map(str, orders[1])) or None in orders[0]:
        return None
    if len(set(orders[0])) != len(nest.extents):
        return None
    group = 1
    if len(orders[0]) > 2 and orders[0][-1] == orders[1][-1]:
        group = nest.extents[orders[0][-1] or 0]
        orders = [order[:-1] for order in orders]
    column, row = orders[0][-1] if orders[0] else None, orders[1][-1] if orders[1] else None
    is_word = element_bits(op.operands[0]) * group == _WORD
    if column is None or row is None or row == column or not is_word:
        return None
    if not all(_has_words(value, group) for value in op.operands):
        return None
    return _Transposition(nest, row, column, group)


def _only_copies(op: Operation) -> bool:
    body = body_operations(op)
    first = op.regions[0].blocks[0].arguments[0]
    types = [value.type for value in op.operands]
    buffers = all(isinstance(type, MemRefType) for type in types)
    return buffers and len(body) == 1 and list(body[0].operands) == [first]


def _has_words(value: Value, group: int) -> bool:
    """Whether words of a buffer's last dimensions are neighbours."""
    strides, _ = MemRefType(value.type).get_strides_and_offset()
    return list(strides)[-1:] == [1] if group == 1 else list(strides)[-2:] == [group, 1]


def _rewrite(copy: _Transposition, lanes: int, ip: InsertionPoint) -> None:
    extents = list(copy.nest.extents)
    whole = {loop: extents[loop] // lanes * lanes for loop in (copy.row, copy.column)}
    _copy_rest(copy, copy.column, whole[copy.column], {}, ip)
    _copy_rest(copy, copy.row, whole[copy.row], {copy.column: whole[copy.column]}, ip)
    counters: dict[int, Value] = {}
    order = [loop for loop in range(len(extents)) if copy.group == 1 or loop != _last(copy)]
    order.sort(key=lambda loop: (loop in whole, loop == copy.row))
    blocks = []
    for loop in order:
        step = lanes if loop in whole else 1
        made = new_loop(0, whole.get(loop, extents[loop]), step, ip=ip)
        block = made.op.regions[0].blocks[0]
        counters[loop] = made.index
        blocks.append(block)
        ip = InsertionPoint(block)
    with ip:
        if copy.group > 1:
            counters[_last(copy)] = index_constant(0, ip)
        _copy_block(copy, lanes, counters)
    for block in blocks:
        scf.yield_([], ip=InsertionPoint(block))


def _last(copy: _Transposition) -> int:
    """The loop over the elements of a word."""
    return copy.loops(0)[-1]


def _copy_rest(
    copy: _Transposition, loop: int, start: int, ends: dict[int, int], ip: InsertionPoint
) -> None:
    """Copy what `loop` reaches from `start` on, by a copy of the operation."""
    extents = copy.nest.extents
    if start == extents[loop]:
        return
    sizes = {**dict(enumerate(extents)), **ends, loop: extents[loop] - start}
    parts = []
    for operand, value in enumerate(copy.nest.op.operands):
        loops = copy.loops(operand)
        offsets = [start if walked == loop else 0 for walked in loops]
        parts.append(
            subview(value, offsets, [sizes[walked] for walked in loops], [1] * len(loops), ip)
        )
    clone = copy.nest.op.clone(ip=ip)
    for operand, part in enumerate(parts):
        clone.operands[operand] = part


def _copy_block(copy: _Transposition, lanes: int, counters: dict[int, Value]) -> None:
    source, target = copy.nest.op.operands
    element = MemRefType(source.type).element_type
    in_memory = VectorType.get([lanes * copy.group], element)
    words = in_memory if copy.group == 1 else VectorType.get([lanes], _word())
    rows = []
    for number in range(lanes):
        here = {**counters, copy.row: shifted(counters[copy.row], number)}
        loaded = vector.load(in_memory, source, _indices(copy, 0, here))
        rows.append(loaded if copy.group == 1 else vector.bitcast(words, loaded))
    for number, row in enumerate(_transposed(rows)):
        here = {**counters, copy.column: shifted(counters[copy.column], number)}
        value = row if copy.group == 1 else vector.bitcast(in_memory, row)
        vector.store(value, target, _indices(copy, 1, here))


def _word() -> IntegerType:
    return IntegerType.get_signless(_WORD)


def _indices(copy: _Transposition, operand: int, counters: dict[int, Value]) -> list[Value]:
    return [counters[loop] for loop in copy.loops(operand)]


def _transposed(rows: Sequence[Value]) -> list[Value]:
    """The columns of a square of words, by as many rounds of perfect shuffles as 2 has powers."""
    lanes, half = len(rows), len(rows) // 2
    order = [element for lane in range(lanes) for element in (lane, lanes + lane)]
    masks = [order[:lanes], order[lanes:]]
    values = list(rows)
    for _ in range(lanes.bit_length() - 1):
        pairs = [(values[n], values[n + half]) for n in range(half)]
        values = [vector.shuffle(*pair, mask) for pair in pairs for mask in masks]
    return values

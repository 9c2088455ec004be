# SPDX-License-Identifier: Apache-2.0
"""pad-by-blocks: pads large images in blocks of rows, just before loops read them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.structured import element_bits, shape_of
from xtc.ir.builders import numbers
from xtc.ir.builders.control import for_each, new_loop
from xtc.ir.builders.numbers import Number, linear_offset
from xtc.ir.builders.slices import empty, extract_slice, insert_slice
from xtc.ir.mlir import InsertionPoint, Operation, Value, arith, outer_operations, scf
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass
from xtc_passes.tensor._padding import (
    Padding,
    filled,
    is_stored,
    padding_of,
    slabs,
)
from xtc_targets.host.passes._row_loop import RowLoop, row_loop

_ROWS = 8  # most iterations per block
_AGAIN = 1.7  # most copied rows per row that a block advances by


@dataclass(frozen=True)
class PadByBlocks(Pass):
    """Pad a large tensor in blocks of rows, each just before the loop iterations that read it.

    The loop runs over the rows of a result and reads a window of rows of the padded tensor. Blocks
    overlap, because the windows do. A block is still in a cache when it is read.

    Before:
        %p = tensor.insert_slice %x into %fill[0, 1, 1, 0]
        scf.for %h = 0 to 56 step 1 { tensor.extract_slice %p[0, %h, %w, %c] [1, 3, 10, 16] }
    After:
        scf.for %b = 0 to 56 step 8 {
          %q = 10 rows of %x from %b - 1 on, with a border around them
          scf.for %h = %b to %b + 8 step 1 {
            tensor.extract_slice %q[0, %h - %b, %w, %c] [1, 3, 10, 16] } }

    Attributes:
        bytes: the least size of a tensor that is padded by blocks, and the largest size of a block.
    """

    name: ClassVar[str] = "pad-by-blocks"
    bytes: int = 262144

    def __post_init__(self) -> None:
        require_positive(self)

    def run(self, module: Operation) -> None:
        with module.context:
            for op in outer_operations(module):
                padding = padding_of(op)
                if padding is None or not is_stored(padding.inside):
                    continue
                loop = row_loop(padding) if _bytes(padding.result) >= self.bytes else None
                count = 0 if loop is None else _count(padding, loop, self.bytes)
                if loop is not None and count:
                    with loop.op.location:
                        _rewrite(_Blocks(padding, loop, count))


@dataclass(frozen=True)
class _Blocks:
    """A padded tensor, the loop that reads it, and the number of its iterations per block."""

    padding: Padding
    loop: RowLoop
    count: int

    @property
    def rows(self) -> int:
        """The number of rows of the padded tensor in a block."""
        return self.loop.rows(self.count)

    @property
    def shape(self) -> list[int]:
        """The shape of a block."""
        return self._with_rows(self.rows, shape_of(self.padding.result))

    def _with_rows(self, rows: int, sizes: Sequence[int]) -> list[int]:
        dim = self.loop.dimension
        return [*sizes[:dim], rows, *sizes[dim + 1 :]]

    def padded(self, first: Value | int, ip: InsertionPoint) -> Value:
        """A block: the rows of the padded tensor from number `first` on."""
        padding, dim = self.padding, self.loop.dimension
        block = empty(self.shape, padding.result, ip)
        starts = self._with_rows(0, padding.offsets)
        inner = self._with_rows(self.rows, shape_of(padding.inside))
        for slab in slabs(self.shape, starts, inner):
            block = filled(padding, block, slab.offsets, slab.sizes, ip)
        before = padding.offsets[dim]
        begin = self._row(before, first, ip)
        end = self._row(before + shape_of(padding.inside)[dim], first, ip)
        block = _for(0, begin, block, ip, self._fill_row)
        block = _for(begin, end, block, ip, lambda *row: self._copy_row(first, *row))
        return _for(end, self.rows, block, ip, self._fill_row)

    def _row(self, number: int, first: Value | int, ip: InsertionPoint) -> Value:
        """The position of a row of the padded tensor in the block, clamped to its ends."""
        here = linear_offset([(number, 1), (first, -1)], ip)
        below = numbers.binary(arith.maxsi, here, 0, ip)
        return numbers.binary(arith.minsi, below, self.rows, ip)

    def _fill_row(self, row: Value, block: Value, ip: InsertionPoint) -> Value:
        starts = [row if d == self.loop.dimension else 0 for d in range(len(self.shape))]
        sizes = self._with_rows(1, self.shape)
        return filled(self.padding, block, starts, sizes, ip)

    def _copy_row(self, first: Value | int, row: Value, block: Value, ip: InsertionPoint) -> Value:
        padding, dim = self.padding, self.loop.dimension
        inside = shape_of(padding.inside)
        number = linear_offset([(row, 1), (first, 1), (-padding.offsets[dim], 1)], ip)
        starts = [number if d == dim else 0 for d in range(len(inside))]
        part = extract_slice(padding.inside, starts, self._with_rows(1, inside), ip)
        into = [row if d == dim else start for d, start in enumerate(padding.offsets)]
        return insert_slice(part, block, into, ip)


def _bytes(value: Value) -> int:
    return math.prod(shape_of(value)) * element_bits(value) // 8


def _count(padding: Padding, loop: RowLoop, most: int) -> int:
    """The most iterations of a block that fit; 0 if blocks would mostly overlap."""
    row = _bytes(padding.result) // shape_of(padding.result)[loop.dimension]
    for count in range(min(_ROWS, loop.trips), 0, -1):
        if loop.trips % count == 0 and loop.rows(count) * row <= most:
            return count if loop.rows(count) <= _AGAIN * count * loop.factor else 0
    return 0


def _rewrite(blocks: _Blocks) -> None:
    """Put a loop over blocks around the loop over rows."""
    loop, ip = blocks.loop, InsertionPoint(blocks.loop.op)
    lower, upper, _, *initial = loop.op.operands
    outer = new_loop(lower, upper, blocks.count, initial, ip)
    for old, new in zip(loop.op.results, outer.results, strict=True):
        old.replace_all_uses_with(new)
    first = outer.index
    inside = InsertionPoint(outer.op.regions[0].blocks[0])
    base = linear_offset([(first, loop.factor), (loop.offset, 1)], inside)
    block = blocks.padded(base, inside)
    end = linear_offset([(first, 1), (blocks.count, 1)], inside)
    last = scf.yield_(list(loop.op.results), ip=inside)
    loop.op.move_before(last.operation)
    for number, value in enumerate([first, end]):
        loop.op.operands[number] = value
    for number, value in enumerate(outer.carried):
        loop.op.operands[3 + number] = value
    loop.read_from(block, base)


def _for(
    lower: Number,
    upper: Number,
    into: Value,
    ip: InsertionPoint,
    body: Callable[[Value, Value, InsertionPoint], Value],
) -> Value:
    """A loop that carries a tensor and updates it row by row."""
    rows = for_each(lower, upper, 1, [into], lambda row, held, at: [body(row, held[0], at)], ip)
    return rows[0]

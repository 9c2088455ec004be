# SPDX-License-Identifier: Apache-2.0
"""block-reductions: sums long reductions of floats in blocks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.function_view import unscheduled_reductions
from xtc.ir.analysis.structured import (
    Structured,
    element_bits,
    shape_of,
    structured,
)
from xtc.ir.builders.control import loop
from xtc.ir.builders.generic import fill
from xtc.ir.builders.slices import subview
from xtc.ir.fast_math import allows
from xtc.ir.mlir import (
    InsertionPoint,
    IntegerAttr,
    IntegerType,
    MemRefType,
    Operation,
    Value,
    arith,
    memref,
)
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass
from xtc_targets.host.passes._long_sums import FloatSum, Range, add_up

_ALIGNMENT = 64
_STACK_BYTES = 4096  # most bytes of a buffer on the stack
_MOST_BLOCKS = 4096  # that are accumulated in sequence


@dataclass(frozen=True)
class BlockReductions(Pass):
    """Sum the blocks of a long reduction separately, then add the block sums.

    A sequential sum of n numbers accumulates up to n rounding errors: 2^25 ones give 2^24 in
    float32. In blocks of b it accumulates b + n / b (N. J. Higham, "The Accuracy of Floating Point
    Summation", SIAM J. Sci. Comput. 14(4), 1993). The order depends only on the extents of the
    reduction. A reduction with a schedule keeps the order of its loops.

    Before:
        linalg.generic ins(%x : memref<65536xf32>) outs(%s : memref<f32>) { s + x }
    After:
        scf.for %b = 0 to 65536 step 4096 {
          linalg.fill ins(%zero) outs(%part : memref<f32>)
          linalg.generic ins(%x[%b] [4096]) outs(%part) { part + x }
          linalg.generic ins(%part) outs(%s) { s + part } }

    Attributes:
        block: most elements that are accumulated in sequence.
        relaxed: the same for reductions with a free order, whose vectors hold partial sums.
        lanes: number of partial sums of a contiguous reduction, which a compiler can vectorize
            without reordering anything; 1 for none.
    """

    name: ClassVar[str] = "block-reductions"
    block: int = 4096
    relaxed: int = 16384
    lanes: int = 1

    def __post_init__(self) -> None:
        require_positive(self)

    def run(self, module: Operation) -> None:
        with module.context:
            for nest in unscheduled_reductions(module, destinations=2):
                self._rewrite(nest)

    def _rewrite(self, nest: Structured | None) -> None:
        found = None if nest is None else FloatSum.of(nest)
        if found is None:
            return
        inner = self._lanes_loop(found)
        free = inner is not None or allows(found.combine, "reassoc")
        block = self.relaxed if free else self.block
        with found.nest.op.location:
            if found.length > block:
                for part in _split(found, block):
                    self._rewrite(structured(part, destinations=2))
            elif inner is not None:
                _sum_side_by_side(found, inner, self.lanes)

    def _lanes_loop(self, found: FloatSum) -> int | None:
        """The innermost loop if it is a contiguous reduction, long enough for lanes, or None."""
        nest = found.nest
        long = [loop for loop in nest.reductions if nest.extents[loop] > 1]
        if self.lanes == 1 or found.destinations > 1 or not long or not nest.runs_along_rows:
            return None
        inner = long[-1]
        used = [number for number in range(nest.destination) if nest.uses_loop(number, inner)]
        dense = all(nest.is_contiguous(number, inner) for number in used)
        return inner if dense and nest.extents[inner] >= 2 * self.lanes else None


def _split(found: FloatSum, block: int) -> list[Operation]:
    """Sum blocks, or blocks of blocks if there are very many; returns the new operations."""
    nest, total = found.nest, found.total
    most = block if found.length <= block * _MOST_BLOCKS else block * _MOST_BLOCKS // 4
    number, size = _outermost(found, most)
    extent = nest.extents[number]
    whole = extent // size * size
    parts = []
    ip = InsertionPoint(nest.op)
    with ip, _buffer(nest.op, found.sizes, total) as local:
        with loop(0, whole, size) as blocks:
            parts.append(_add_block(found, number, Range(blocks.index, size), local))
        if whole < extent:
            parts.append(_add_block(found, number, Range(whole, extent - whole), local))
    nest.op.erase()
    return parts


def _outermost(found: FloatSum, most: int) -> tuple[int, int]:
    """The outermost reduction loop, and the number of its iterations with `most` elements."""
    nest = found.nest
    number = next(loop for loop in nest.reductions if nest.extents[loop] > 1)
    inside = found.length // nest.extents[number]
    return number, min(nest.extents[number], max(1, most // inside))


def _add_block(found: FloatSum, number: int, part: Range, local: Value) -> Operation:
    """Sum a part of the iterations in `local`, then add that to the total."""
    _clear(local)
    ip = InsertionPoint.current
    op = found.add_part(number, part, local, ip)
    add_up(local, found.total, ip)
    return op


def _sum_side_by_side(found: FloatSum, inner: int, lanes: int) -> None:
    """Sum every lane separately, then halve the lanes until one is left, then add the rest."""
    nest, total = found.nest, found.total
    extent = nest.extents[inner]
    whole = extent // lanes * lanes
    ip = InsertionPoint(nest.op)
    with ip, _buffer(nest.op, (*found.sizes, lanes), total) as local:
        _clear(local)
        with loop(0, whole, lanes) as columns:
            part = Range(columns.index, lanes)
            found.add_part(inner, part, local, InsertionPoint.current, lanes=True)
        while lanes > 1:
            lanes //= 2
            add_up(_lanes(local, lanes, lanes), _lanes(local, 0, lanes), ip)
        add_up(_lanes(local, 0, 1, dropped=True), total, ip)
        if whole < extent:
            found.add_part(inner, Range(whole, extent - whole), total, ip)
    nest.op.erase()


def _lanes(buffer: Value, start: int, count: int, *, dropped: bool = False) -> Value:
    """Consecutive elements of the last dimension of a buffer; a single one may drop it."""
    *sizes, _ = shape_of(buffer)
    offsets = [*(0 for _ in sizes), start]
    return subview(buffer, offsets, [*sizes, count], [1] * len(offsets), dropped=dropped)


def _clear(buffer: Value) -> None:
    fill(arith.constant(buffer.type.element_type, 0.0), buffer)


@contextmanager
def _buffer(op: Operation, sizes: Sequence[int], like: Value) -> Iterator[Value]:
    """A buffer before `op`: on the stack if small, or else freed at the end of the context."""
    type = MemRefType.get(list(sizes), like.type.element_type)
    alignment = IntegerAttr.get(IntegerType.get_signless(64), _ALIGNMENT)
    if math.prod(sizes) * element_bits(like) // 8 <= _STACK_BYTES:
        entry = InsertionPoint.at_block_begin(_function(op).regions[0].blocks[0])
        yield memref.alloca(type, [], [], alignment=alignment, ip=entry)
        return
    buffer = memref.alloc(type, [], [], alignment=alignment)
    yield buffer
    memref.dealloc(buffer)


def _function(op: Operation) -> Operation:
    around = op
    while around.name != "func.func":
        around = around.parent.operation
    return around

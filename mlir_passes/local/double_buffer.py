# SPDX-License-Identifier: Apache-2.0
"""double-buffer: the copy engine fetches the tiles of the next iteration during this one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.views import root
from xtc.ir.builders import numbers
from xtc.ir.builders.control import branch
from xtc.ir.builders.slices import Offset
from xtc.ir.mlir import InsertionPoint, MemRefType, Operation, Value, all_operations
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass
from xtc_passes.local import _retyped_views as retyped
from xtc_passes.local import _transfers as transfers
from xtc_passes.local import _view_layouts as layouts
from xtc_passes.local._functions import body, functions, is_on_unit
from xtc_passes.local._memory import LocalMemory
from xtc_passes.local._overlap import Tile, is_outside, tile_of


@dataclass(frozen=True)
class DoubleBuffer(Pass):
    """Overlap the transfers of a loop with its computation.

    Before:
        scf.for %k = ... { %a = memref.alloc() : memref<8xf32, 2>; memref.copy %A[%k], %a; use(%a) }
    After:
        %both = memref.alloc() : memref<2x8xf32, 2>;  start %A[first], %both[0], %tags[0]
        scf.for %k = ... { if %k + step < last { start %A[%k + step], %both[other], %tags[other] }
                           wait %tags[this]; use(%both[this]) }

    The pass handles a buffer that each iteration allocates, so that no iteration needs the contents
    of another, if one copy fills it before all other uses, or one copy empties it after all other
    uses. A buffer that is filled gets two slots: the copy starts one iteration early. A buffer that
    is emptied gets two: the copy is awaited one iteration late. A buffer that is both gets three.
    A copy stays in its iteration if the loop writes its source, or accesses its target, or if its
    offsets depend on values that the loop loads from memory. Arguments of a kernel do not overlap.
    Inner loops come first; a buffer whose slots would not fit keeps one.

    Attributes:
        local_bytes: bytes of local memory that buffers may take.
        units: units that run a kernel; each has its own copy of a private buffer.
        space: the memory space of local buffers; None if kernels allocate buffers only there.
    """

    name: ClassVar[str] = "double-buffer"
    local_bytes: int = 64 << 10
    units: int = 1
    space: int | None = None

    def __post_init__(self) -> None:
        require_positive(self)

    def run(self, module: Operation) -> None:
        memory = LocalMemory(self.space)
        with module.context:
            for kernel in functions(module):
                left = self.local_bytes - self._used(kernel, memory)
                for loop in reversed([op for op in all_operations(kernel) if op.name == "scf.for"]):
                    if not is_on_unit(loop) and not _runs_once(loop):
                        left = _overlap(kernel, loop, memory, left)

    def _used(self, kernel: Operation, memory: LocalMemory) -> int:
        """The bytes of all buffers, as if none of them could overlap."""
        return sum(
            _bytes(op) * (self.units if is_on_unit(op) else 1) for op in memory.buffers(kernel)
        )


def _bytes(alloc: Operation) -> int:
    type = MemRefType(alloc.results[0].type)
    return layouts.nbytes(type) if type.has_static_shape else 0


def _runs_once(loop: Operation) -> bool:
    return numbers.known_trips(loop) == 1


def _overlap(kernel: Operation, loop: Operation, memory: LocalMemory, left: int) -> int:
    """Overlap the copies of one loop; returns the bytes that are left."""
    local = memory.buffers(loop)
    for alloc in [op for op in body(loop) if op in local]:
        tile = tile_of(alloc, loop, memory)
        more = _bytes(alloc) * (tile.slots - 1)
        if 0 < more <= left:
            left -= more
            with loop.location:
                _Rewriting(kernel, loop, tile).run()
    return left


class _Rewriting:
    """Gives a tile of a loop its slots, and moves its transfers to other iterations."""

    def __init__(self, kernel: Operation, loop: Operation, tile: Tile) -> None:
        self._kernel, self._loop, self._tile = kernel, loop, tile
        block = loop.regions[0].blocks[0]
        self._index: Value = block.arguments[0]
        self._first: Operation = block.operations[0].operation
        self._lower, self._upper, self._step = map(numbers.known, list(loop.operands)[:3])

    def run(self) -> None:
        tile = self._tile
        with InsertionPoint(self._loop):
            self._slots = _with_slots(tile.alloc, tile.slots)
        with InsertionPoint(self._first):
            elapsed = numbers.subtract(self._index, self._lower)
            self._number = numbers.divide(elapsed, self._step)
            this = retyped.slot_of(self._slots, self._slot(0))
        if tile.fill is not None:
            self._fetch_ahead(tile.fill)
        if tile.drain is not None:
            self._store_behind(tile.drain)
        retyped.replace_buffer(tile.alloc.results[0], this)
        tile.alloc.erase()

    def _slot(self, ahead: int) -> Offset:
        return numbers.remainder(numbers.add(self._number, ahead), self._tile.slots)

    def _fetch_ahead(self, fill: Operation) -> None:
        """Start the first transfer before the loop, and each other one an iteration early."""
        tags = transfers.new_tags(self._kernel, self._tile.slots)
        with InsertionPoint(self._loop), branch(numbers.less(self._lower, self._upper)):
            self._start(fill, self._lower, tags, 0)
        with InsertionPoint(self._first):
            coming = numbers.add(self._index, self._step)
            with branch(numbers.less(coming, self._upper)):
                self._start(fill, coming, tags, self._slot(1))
        with InsertionPoint(fill):
            transfers.wait(tags, self._slot(0))
        fill.erase()

    def _store_behind(self, drain: Operation) -> None:
        """Wait for each transfer before the next one starts, and for the last after the loop."""
        tags = transfers.new_tags(self._kernel, 1)
        with InsertionPoint(drain):
            with branch(numbers.less(self._lower, self._index)):
                transfers.wait(tags, 0)
            source, target = drain.operands
            transfers.start(source, target, tags, 0)
        after = InsertionPoint.after(self._loop)
        with after, branch(numbers.less(self._lower, self._upper)):
            transfers.wait(tags, 0)
        drain.erase()

    def _start(self, fill: Operation, index: Offset, tags: Value, slot: Offset) -> None:
        """Start the transfer of the iteration with this index."""
        inside = {
            self._index: numbers.as_value(index),
            self._tile.alloc.results[0]: retyped.slot_of(self._slots, numbers.as_value(slot)),
        }
        source, target = (self._repeated(end, inside) for end in fill.operands)
        transfers.start(source, target, tags, slot)

    def _repeated(self, value: Value, inside: dict[Value, Value]) -> Value:
        """`value` for another index, computed by clones of its operations."""
        if value in inside:
            return inside[value]
        if is_outside(value, self._loop):
            return value
        operands = [self._repeated(operand, inside) for operand in value.owner.operands]
        copy = value.owner.operation.clone()
        for position, operand in enumerate(operands):
            copy.operands[position] = operand
        if root(copy.results[0]) == self._slots:
            retyped.forget_offset(copy.results[0])
        inside.update(zip(value.owner.results, copy.results, strict=True))
        return inside[value]


def _with_slots(alloc: Operation, slots: int) -> Value:
    """A buffer with `slots` copies of an allocation."""
    type = MemRefType(alloc.results[0].type)
    shape = [slots, *type.shape]
    wide = MemRefType.get(shape, type.element_type, None, type.memory_space)
    return retyped.reallocated(alloc, wide)

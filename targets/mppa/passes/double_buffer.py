# SPDX-License-Identifier: Apache-2.0
"""double-buffer: the DMA brings the next iteration's tiles while this iteration computes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.views import root
from xtc.ir.builders.tensors import Offset
from xtc.ir.mlir import InsertionPoint, MemRefType, Operation, Value, all_operations
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass
from xtc_targets.mppa.description import COOLIDGE_V2
from xtc_targets.mppa.passes import _control as control
from xtc_targets.mppa.passes import _device as device
from xtc_targets.mppa.passes import _replace as replace
from xtc_targets.mppa.passes import _transfers as transfers
from xtc_targets.mppa.passes import _views as views
from xtc_targets.mppa.passes._overlap import Tile, is_outside, tile_of


@dataclass(frozen=True)
class DoubleBuffer(Pass):
    """Overlap the transfers of a loop with its computation.

    Before:
        scf.for %k = ... { %a = memref.alloc() : memref<8xf32, 2>; memref.copy %A[%k], %a; use(%a) }
    After:
        %both = memref.alloc() : memref<2x8xf32, 2>;  start %A[first], %both[0], %tags[0]
        scf.for %k = ... { if %k + step < last { start %A[%k + step], %both[other], %tags[other] }
                           wait %tags[this]; use(%both[this]) }

    It concerns buffers that an iteration allocates, as nothing in them is needed by the next one,
    and that one copy fills before any other use, or one copy empties after all others. What is
    filled has two slots; what is emptied too, as it is waited for one iteration later; what is
    both has three. A copy stays where it is if the loop writes what it reads, or uses what it
    writes, or if its place depends on what the loop computes from memory. Kernels' arguments are
    taken to be apart. Inner loops come first, and a buffer that would not fit any more stays one.

    Attributes:
        smem_bytes: what a cluster's buffers may take.
        pes: how many PEs have private buffers of their own.
    """

    name: ClassVar[str] = "double-buffer"
    smem_bytes: int = COOLIDGE_V2.smem_usable_bytes
    pes: int = 16

    def __post_init__(self) -> None:
        require_positive(self)

    def run(self, module: Operation) -> None:
        with module.context:
            for kernel in device.kernels(module):
                room = self.smem_bytes - self._used(kernel)
                for loop in reversed([op for op in all_operations(kernel) if op.name == "scf.for"]):
                    if not device.is_on_pe(loop) and not _runs_once(loop):
                        room = _overlap(kernel, loop, room)

    def _used(self, kernel: Operation) -> int:
        """Bytes of all buffers, as if none could share."""
        return sum(
            _bytes(op) * (self.pes if device.is_on_pe(op) else 1)
            for op in device.local_buffers(kernel)
        )


def _bytes(alloc: Operation) -> int:
    type = MemRefType(alloc.results[0].type)
    return views.nbytes(type) if type.has_static_shape else 0


def _runs_once(loop: Operation) -> bool:
    lower, upper, step = (control.known(one) for one in list(loop.operands)[:3])
    numbers = isinstance(lower, int) and isinstance(upper, int) and isinstance(step, int)
    return numbers and control.trips(lower, upper, step) == 1


def _overlap(kernel: Operation, loop: Operation, room: int) -> int:
    """Rewrite what can be in one loop; returns the room that is left."""
    for alloc in [op for op in device.body(loop) if op.name == "memref.alloc"]:
        tile = tile_of(alloc, loop)
        more = _bytes(alloc) * (tile.slots - 1)
        if 0 < more <= room:
            room -= more
            with loop.location:
                _Rewriting(kernel, loop, tile).run()
    return room


class _Rewriting:
    """Gives one tile of a loop its slots, and its transfers their new places."""

    def __init__(self, kernel: Operation, loop: Operation, tile: Tile) -> None:
        self._kernel, self._loop, self._tile = kernel, loop, tile
        block = loop.regions[0].blocks[0]
        self._index: Value = block.arguments[0]
        self._first: Operation = block.operations[0].operation
        self._lower, self._upper, self._step = map(control.known, list(loop.operands)[:3])

    def run(self) -> None:
        tile = self._tile
        with InsertionPoint(self._loop):
            self._slots = _with_slots(tile.alloc, tile.slots)
        with InsertionPoint(self._first):
            elapsed = control.subtract(self._index, self._lower)
            self._number = control.divide(elapsed, self._step)
            this = replace.slot_of(self._slots, self._slot(0))
        if tile.fill is not None:
            self._fetch_ahead(tile.fill)
        if tile.drain is not None:
            self._store_behind(tile.drain)
        replace.replace_buffer(tile.alloc.results[0], this)
        tile.alloc.erase()

    def _slot(self, ahead: int) -> Offset:
        return control.remainder(control.add(self._number, ahead), self._tile.slots)

    def _fetch_ahead(self, fill: Operation) -> None:
        """Start the first transfer before the loop, and each other one in the iteration before."""
        tags = transfers.new_tags(self._kernel, self._tile.slots)
        with InsertionPoint(self._loop), control.branch(control.less(self._lower, self._upper)):
            self._start(fill, self._lower, tags, 0)
        with InsertionPoint(self._first):
            coming = control.add(self._index, self._step)
            with control.branch(control.less(coming, self._upper)):
                self._start(fill, coming, tags, self._slot(1))
        with InsertionPoint(fill):
            transfers.wait(tags, self._slot(0))
        fill.erase()

    def _store_behind(self, drain: Operation) -> None:
        """Wait for each transfer when the next one is to start, and for the last after the loop."""
        tags = transfers.new_tags(self._kernel, 1)
        with InsertionPoint(drain):
            with control.branch(control.less(self._lower, self._index)):
                transfers.wait(tags, 0)
            source, target = drain.operands
            transfers.start(source, target, tags, 0)
        after = InsertionPoint.after(self._loop)
        with after, control.branch(control.less(self._lower, self._upper)):
            transfers.wait(tags, 0)
        drain.erase()

    def _start(self, fill: Operation, index: Offset, tags: Value, slot: Offset) -> None:
        """Start the transfer of the iteration of that index."""
        inside = {
            self._index: control.value(index),
            self._tile.alloc.results[0]: replace.slot_of(self._slots, control.value(slot)),
        }
        source, target = (self._repeated(one, inside) for one in fill.operands)
        transfers.start(source, target, tags, slot)

    def _repeated(self, value: Value, inside: dict[Value, Value]) -> Value:
        """What `value` is for another index; what computes it is cloned when first asked for."""
        if value in inside:
            return inside[value]
        if is_outside(value, self._loop):
            return value
        operands = [self._repeated(operand, inside) for operand in value.owner.operands]
        copy = value.owner.operation.clone()
        for position, operand in enumerate(operands):
            copy.operands[position] = operand
        if root(copy.results[0]) == self._slots:
            replace.forget_offset(copy.results[0])
        inside.update(zip(value.owner.results, copy.results, strict=True))
        return inside[value]


def _with_slots(alloc: Operation, slots: int) -> Value:
    """A buffer with room for so many of an allocation."""
    type = MemRefType(alloc.results[0].type)
    shape = [slots, *type.shape]
    made = Operation.create(
        "memref.alloc",
        results=[MemRefType.get(shape, type.element_type, None, type.memory_space)],
        attributes={name: alloc.attributes[name] for name in alloc.attributes},
    )
    return made.results[0]

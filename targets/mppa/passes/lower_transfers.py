# SPDX-License-Identifier: Apache-2.0
"""lower-transfers: transfers become calls of `dev_dma_2d` and `dev_dma_wait`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.builders.tensors import Offset
from xtc.ir.mlir import IndexType, InsertionPoint, MemRefType, Operation, Value, all_operations
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass
from xtc_targets.mppa.description import COOLIDGE_V2
from xtc_targets.mppa.passes import _control as control
from xtc_targets.mppa.passes import _device as device
from xtc_targets.mppa.passes import _views as views
from xtc_targets.mppa.passes._effects import dma_tag, dma_target
from xtc_targets.mppa.passes._rows import Dimension, rows_of, sides_of

_GET, _PUT = 0, 1  # dev_direction
_NO_TRANSFER = 0  # no transfer has this number


@dataclass(frozen=True)
class LowerTransfers(Pass):
    """Say of each `memref.dma_start` which rows of bytes the DMA moves, and how far they are apart.

    Before:
        memref.dma_start %A[..], %a[..], %n, %tags[%i] : memref<8x8xf32, strided<[64, 1]>, 1>, ..
    After:
        %t = call @dev_dma_2d(%get, %to, %c32, %from, %c256, %c32, %c8) : (i32, index, ..) -> i32
        memref.store %t, %tags[%i]

    Dimensions that have no gap between them on either side are one. The innermost is a row, where
    its elements are neighbours on both sides; otherwise a row is one element. The largest of the
    others counts the rows. For what is left there are loops of transfers, each with a tag of its
    own as long as the DMA takes so many at a time; where it does not, each is waited for when the
    next one has been started. A transfer whose size is known at run time only may be empty: then
    it is none, and the tag is 0.

    Attributes:
        in_flight: transfers that a cluster's DMA takes at a time.
    """

    name: ClassVar[str] = "lower-transfers"
    in_flight: int = COOLIDGE_V2.dma_in_flight

    def __post_init__(self) -> None:
        require_positive(self)

    def run(self, module: Operation) -> None:
        with module.context:
            index = IndexType.get()
            types = [device.i32(), *[index] * 6]
            device.declare(module, device.DMA, types, [device.i32()])
            device.declare(module, device.WAIT, [device.i32()])
            for kernel in device.kernels(module):
                self._lower(kernel)

    def _lower(self, kernel: Operation) -> None:
        ops = all_operations(kernel)
        starts = [op for op in ops if op.name == "memref.dma_start"]
        unsure = {dma_tag(op)[0] for op in starts if _may_be_empty(op)}
        rooms = _rooms(starts, self.in_flight)
        for op in [one for one in ops if one.name in ("memref.dma_start", "memref.dma_wait")]:
            tags, number = dma_tag(op)
            with op.location, InsertionPoint(op):
                place = _Tags(tags, number, rooms[tags], tags in unsure)
                if op.name == "memref.dma_start":
                    _start(op, place)
                else:
                    place.wait()
            op.erase()
        with kernel.location:
            for tags, room in rooms.items():
                type = MemRefType(tags.type)
                tags.set_type(MemRefType.get([type.shape[0] * room], type.element_type))


def _rooms(starts: Sequence[Operation], in_flight: int) -> dict[Value, int]:
    """How many tags each transfer has: one for each part, as long as all fit into the DMA.

    What one wait waits for may be started in several places, which then have to agree.
    """
    found: dict[Value, set[int]] = {}
    for op in starts:
        found.setdefault(dma_tag(op)[0], set()).add(_parts(op))
    parts = {tags: min(counts) if len(counts) == 1 else 1 for tags, counts in found.items()}
    left = in_flight - sum(2 * MemRefType(tags.type).shape[0] for tags in parts)
    rooms = {}
    for tags, count in sorted(parts.items(), key=lambda one: one[1]):
        more = MemRefType(tags.type).shape[0] * count
        rooms[tags] = count if count > 1 and more <= left else 1
        left -= more if rooms[tags] > 1 else 0
    return rooms


def _parts(start: Operation) -> int:
    """Of how many transfers of rows it is made; 1 where that is known at run time only."""
    if _may_be_empty(start):
        return 1
    with InsertionPoint(start), start.location:
        _, _, outer = rows_of(*sides_of(start))
    return math.prod(dim.size for dim in outer if isinstance(dim.size, int))


@dataclass(frozen=True)
class _Tags:
    """Where the numbers of one transfer's parts are kept."""

    buffer: Value
    number: Value
    room: int
    may_be_none: bool

    def store(self, transfer: Value, part: Offset = 0) -> None:
        Operation.create("memref.store", operands=[transfer, self.buffer, self._place(part)])

    def load(self, part: Offset = 0) -> Value:
        operands = [self.buffer, self._place(part)]
        return Operation.create("memref.load", results=[device.i32()], operands=operands).results[0]

    def _place(self, part: Offset) -> Value:
        first = control.multiply(control.known(self.number), self.room)
        return control.value(control.add(first, part))

    def wait(self) -> None:
        if self.room == 1:
            _wait(self.load(), self.may_be_none)
            return
        with control.loop(0, self.room, 1) as part:
            _wait(self.load(part), self.may_be_none)


def _wait(transfer: Value, may_be_none: bool) -> None:
    is_one = control.differs(transfer, _none()) if may_be_none else True
    with control.branch(is_one):
        device.call(device.WAIT, [transfer])


def _none() -> Value:
    return control.constant(_NO_TRANSFER, device.i32())


def _may_be_empty(start: Operation) -> bool:
    return not dma_target(start).type.has_static_shape


def _start(op: Operation, tags: _Tags) -> None:
    smem, ddr = sides_of(op)
    row, counted, outer = rows_of(smem, ddr)
    direction = _GET if device.is_local(dma_target(op)) else _PUT
    calls = _Calls(direction, smem, ddr, row, counted, tags)
    if not tags.may_be_none:
        calls.make(outer)
        return
    tags.store(_none())
    count: Offset = 1
    for size in smem.sizes:
        count = control.multiply(count, size)
    with control.branch(control.less(0, count)):
        calls.make(outer)


@dataclass(frozen=True)
class _Calls:
    """Makes the calls of one transfer: of rows with so many elements, counted by a dimension."""

    direction: int
    smem: views.Place
    ddr: views.Place
    row: Offset
    counted: Dimension | None
    tags: _Tags

    def make(self, outer: Sequence[Dimension]) -> None:
        if not outer:
            self.tags.store(self._call(0, 0))
            return
        if self.tags.room == 1:
            self.tags.store(_none())
        self._nest(outer, 0, 0, 0)

    def _nest(self, outer: Sequence[Dimension], part: Offset, smem: Offset, ddr: Offset) -> None:
        """A loop for each dimension; without tags for all, the part before is waited for."""
        if not outer:
            if self.tags.room > 1:
                self.tags.store(self._call(smem, ddr), part)
                return
            before = self.tags.load()
            self.tags.store(self._call(smem, ddr))
            _wait(before, may_be_none=True)
            return
        dim, *rest = outer
        with control.loop(0, dim.size, 1) as index:
            self._nest(
                rest,
                control.add(control.multiply(part, dim.size), index),
                control.add(smem, control.multiply(index, dim.smem)),
                control.add(ddr, control.multiply(index, dim.ddr)),
            )

    def _call(self, smem: Offset, ddr: Offset) -> Value:
        rows, nbytes = self.counted, self.smem.element_bytes
        row_bytes = control.value(control.multiply(self.row, nbytes))
        strides = [row_bytes] * 2
        if rows is not None:
            strides = [control.constant(one * nbytes) for one in (rows.smem, rows.ddr)]
        operands = [
            control.constant(self.direction, device.i32()),
            self.smem.address(smem),
            strides[0],
            self.ddr.address(ddr),
            strides[1],
            row_bytes,
            control.value(rows.size if rows is not None else 1),
        ]
        return device.call(device.DMA, operands, [device.i32()]).results[0]

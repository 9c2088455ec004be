# SPDX-License-Identifier: Apache-2.0
"""Writes the code of a warp that copies tiles in bulk, and of warpgroups that multiply them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from xtc.ir.attributes import TF32
from xtc.ir.builders import control, tile
from xtc.ir.builders.numbers import (
    Number,
    add,
    as_value,
    compare,
    divide,
    exclusive_or,
    known,
    minimum,
    multiply,
    remainder,
    subtract,
    trip_count,
)
from xtc.ir.mlir import (
    AffineMap,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    Operation,
    ShapedType,
    StridedLayoutAttr,
    Type,
    UnitAttr,
    Value,
    all_operations,
    arith,
    memref,
)
from xtc_targets.nvgpu.passes._kernels import WARP
from xtc_targets.nvgpu.passes._pipelines.block_pairs import BLOCKS, BlockPair
from xtc_targets.nvgpu.passes._pipelines.bulk_stores import end_stores, staging_of, write_store
from xtc_targets.nvgpu.passes._pipelines.dot_loops import DotLoop, Operand
from xtc_targets.nvgpu.passes._pipelines.register_plan import RegisterPlan
from xtc_targets.nvgpu.passes._tiles.shared_memory import bytes_of

_UNKNOWN = ShapedType.get_dynamic_stride_or_offset()
_SHARED = 2  # memory space
_BAND = 8  # tiles in x: 132 blocks share about 8 tiles of one operand and 16 of the other

Slots = tuple[Value, Value]
"""The index of a slot, and the parity of its phase."""


@dataclass(frozen=True)
class Shape:
    """The division of a kernel among threads.

    Attributes:
        consumers: threads that multiply; the copying threads have higher numbers.
        registers: registers per thread, by role.
        slots: buffer slots.
        merged: iterations of the user's loop per iteration.
        resident: maximum blocks of the grid.
        at_once: blocks per multiprocessor that it allows for.
        store: the store of the tile that becomes a bulk store through shared memory, or None.
        pair: the blocks of a cluster that load an operand together, or None.
    """

    consumers: int
    slots: int
    merged: int
    resident: int
    store: Operation | None
    registers: RegisterPlan
    pair: BlockPair | None = None
    at_once: int = 1

    @property
    def warps(self) -> int:
        """Warps that multiply."""
        return self.consumers // WARP

    @property
    def threads(self) -> int:
        """Threads per block."""
        return self.consumers + self.registers.copiers


@dataclass
class Roles:
    """Writes both roles of a kernel at the current insertion point.

    Attributes:
        matched: the loop.
        shape: the division of the kernel.
        mapped: values of the new kernel by those of the old one.
        grid: blocks of the old kernel in x, y and z.
        asked: the block's position and the grid, in the old kernel.
        before, after: the code around the loop, which runs once per tile.
        buffers, full, empty: the shared tensors, and the mbarriers of their slots.
        rank, together: of a pair, which of both blocks this is, and whether both load together.
    """

    matched: DotLoop
    shape: Shape
    mapped: dict[Value, Value]
    grid: Sequence[Number]
    asked: Mapping[tuple[str, int], Value]
    before: Sequence[Operation]
    after: Sequence[Operation]
    buffers: list[Value] = field(default_factory=list)
    full: Value = field(init=False)
    empty: Value = field(init=False)
    rank: Value = field(init=False)
    together: Value | bool = field(init=False)
    staging: Value = field(init=False)

    def write(self, has_shared: bool, needs_order: bool) -> None:
        """Write slots and barriers, and then the code of each role for all tiles of its block.

        If the kernel has shared tensors, a barrier separates consecutive tiles. A bulk store needs
        none: it is the last operation of a tile, and begins after all threads have arrived at a
        barrier. If the code on both sides of the loop needs an order, a barrier replaces those of
        the loop.
        """
        self.has_shared, self.needs_order = has_shared, needs_order
        slots, consumers = self.shape.slots, self.shape.consumers
        space = IntegerAttr.get(IntegerType.get_signless(64), _SHARED)
        for operand in (self.matched.a, self.matched.b):
            element = MemRefType(operand.stream.source.type).element_type
            sizes = [slots, *operand.deeper(self.shape.merged)]
            kind = MemRefType.get(sizes, element, None, space)
            self.buffers.append(memref.alloc(kind, [], []))
        kind = Type.parse(f"memref<{slots}xi64, 2>")
        readers = self.shape.warps * (1 if self.pair is None else BLOCKS)
        self.full = tile.mbarrier_alloc([1] * slots, kind)
        self.empty = tile.mbarrier_alloc([readers] * slots, kind)
        if self.pair is not None:
            self.rank = as_value(remainder(tile.block_id(0), BLOCKS))
            self.together = self.pair.together(self.grid)
            tile.cluster_sync().attributes[tile.NO_WRITES] = UnitAttr.get()
        if self.shape.store is not None:
            self.staging = staging_of(self.shape.store)
        registers = self.shape.registers
        if registers.copiers == WARP:
            with control.branch(tile.in_group(consumers, WARP)):
                self._each_tile(self._copy_tile)
        else:
            with control.branch(tile.in_group(consumers, registers.copiers)):
                tile.set_registers(registers.least, increase=False)
                with control.branch(tile.in_group(consumers, WARP)):
                    self._each_tile(self._copy_tile)
        with control.branch(tile.in_group(0, consumers)):
            if registers.copiers > WARP:
                tile.set_registers(registers.most, increase=True)
            self._each_tile(self._multiply_tile)
            if self.shape.store is not None:
                end_stores(self.shape.store)
        if self.pair is not None:  # the other block still loads to this one's shared memory
            tile.cluster_sync()

    @property
    def pair(self) -> BlockPair | None:
        """The blocks of a cluster that load an operand together, or None."""
        return self.shape.pair

    def _each_tile(self, write: Callable[[Slots], Slots]) -> None:
        """Write a loop over the tiles of a block, which carries the slot."""
        total = multiply(multiply(self.grid[0], self.grid[1]), self.grid[2])
        i32 = IntegerType.get_signless(32)
        zero = as_value(0, type=i32)
        bounds = [as_value(n, type=i32) for n in (tile.block_id(0), total, tile.grid_dim(0))]
        with control.loop(bounds[0], bounds[1], bounds[2], [zero, zero]) as loop:
            kept = dict(self.mapped)
            self._place(loop.index)
            loop.following = write((loop.carried[0], loop.carried[1]))
            self.mapped = kept

    def _place(self, number: Value) -> None:
        """Map the old kernel's block position, that of tile `number`, and its grid.

        Tiles that are computed at the same time are in a band of a few positions in x, so that
        their operands come from the L2 cache. A pair of blocks has consecutive numbers, which are
        adjacent in the pair's dimension.
        """
        fast = 0 if self.pair is None else self.pair.dim
        x, y = self.grid[fast], self.grid[1 - fast]
        z, inside = divide(number, multiply(x, y)), remainder(number, multiply(x, y))
        band = multiply(divide(inside, multiply(y, _BAND)), _BAND)
        height = minimum(subtract(x, band), _BAND)
        at = remainder(inside, multiply(y, _BAND))
        place = add(band, remainder(at, height)), divide(at, height)
        ids = (place[fast], place[1 - fast], z)
        for (name, dim), value in self.asked.items():
            found = (ids if name == "tile.block_id" else self.grid)[dim]
            self.mapped[value] = as_value(found, type=value.type)

    def _trips(self) -> Number:
        """The trip count of a tile's loop, after merging."""
        lower, upper, step = list(self.matched.loop.operands)[:3]
        bounds = [known(self.mapped.get(value, value)) for value in (lower, upper, step)]
        merged = self.shape.merged
        return divide(add(trip_count(*bounds), merged - 1), merged)

    # --- the copying warp -------------------------------------------------------------------------

    def _copy_tile(self, slots: Slots) -> Slots:
        for op in copied_by(self.matched, self.before):
            clone(op, self.mapped)
        with self._iterations(self._trips(), slots) as loop, self.matched.loop.location:
            slot, phase = loop.carried
            tile.mbarrier_wait(self.empty, slot, as_value(exclusive_or(phase, 1)))
            with control.branch(tile.in_group(self.shape.consumers, 1)):
                self._copy(slot, loop.index)
            loop.following = self._advanced((slot, phase))
        return loop.results[0], loop.results[1]

    def _copy(self, slot: Value, iteration: Value) -> None:
        operands = (self.matched.a, self.matched.b)
        views = [_slot(each, slot) for each in self.buffers]
        nbytes = sum(_bytes_of(view) for view in views)
        tile.mbarrier_expect(self.full, slot, as_value(nbytes, type=slot.type))
        old = multiply(iteration, self.shape.merged)
        for number, (operand, view) in enumerate(zip(operands, views, strict=True)):
            forms = self.matched.forms
            with operand.stream.copy.location:
                offsets = [forms.emitted(form, old, self.mapped) for form in operand.offsets]
                if self.pair is not None and number == self.pair.operand:
                    self._copy_by_halves(operand, self.buffers[number], slot, offsets)
                    continue
                self._load(operand, view, slot, offsets)

    def _load(
        self,
        operand: Operand,
        view: Value,
        slot: Value,
        offsets: Sequence[Number],
        mask: int | None = None,
    ) -> None:
        """Begin to load a tile; with a mask, to the blocks of the cluster that it names."""
        values = [as_value(offset, type=slot.type) for offset in offsets]
        source, barrier = self.mapped[operand.stream.source], (self.full, slot)
        if mask is None:
            load = tile.tma_load(source, view, barrier, values, list(operand.dims))
        else:
            ranks = as_value(mask, type=slot.type)
            load = tile.tma_multicast(source, view, barrier, ranks, values, list(operand.dims))
        if self.matched.codes == "tfloat32":  # warpgroups ignore the lower bits
            load.attributes[TF32] = UnitAttr.get()

    def _copy_by_halves(
        self, operand: Operand, buffer: Value, slot: Value, offsets: Sequence[Number]
    ) -> None:
        """Load a half of a tile for both blocks if they are together, else both halves."""
        rows = MemRefType(buffer.type).shape[1] // BLOCKS

        def load(rank: Number, mask: int | None) -> None:
            first = multiply(rank, rows)
            moved = list(offsets)
            moved[operand.dims[0]] = add(moved[operand.dims[0]], first)
            self._load(operand, _slot(buffer, slot, first, rows), slot, moved, mask)

        with control.branch(self.together):
            load(self.rank, (1 << BLOCKS) - 1)
        if not isinstance(self.together, bool):
            with control.branch(arith.xori(self.together, as_value(1, type=self.together.type))):
                for rank in range(BLOCKS):
                    load(rank, None)

    # --- the multiplying warpgroups ---------------------------------------------------------------

    def _multiply_tile(self, slots: Slots) -> Slots:
        matched, loop = self.matched, self.matched.loop
        for op in self.before:
            clone(op, self.mapped)
        initial = loop.operands[3 + matched.carried]
        with loop.location:
            *following, sums = self._summed(self._trips(), slots, self.mapped[initial])
        self.mapped[loop.results[matched.carried]] = sums
        if self.needs_order and self.after and self.after[0].name != "tile.sync":
            with loop.location:
                tile.sync()
        for op in self.after:
            if op is self.shape.store:
                write_store(op, self.staging, self.mapped)
            else:
                clone(op, self.mapped)
        if self.has_shared and self.shape.store is None:
            tile.sync()
        return following[0], following[1]

    def _summed(self, trips: Number, slots: Slots, sums: Value) -> list[Value]:
        """The following slot and the accumulators, after the last multiplication.

        Without iterations there is no wait either: ptxas executes the multiplications of a kernel
        one by one if its accumulators are written on a path to their wait (its C7515).
        """

        def write() -> list[Value]:
            last, *following = self._multiplied(trips, slots, sums)
            tile.wgmma_wait(0)
            self._release(last)
            return following

        some = trips > 0 if isinstance(trips, int) else compare("sgt", trips, 0)
        return control.values_if(some, write, [*slots, sums])

    def _multiplied(self, trips: Number, slots: Slots, sums: Value) -> list[Value]:
        """Write the loop: a multiplication is in flight during the wait for the next slot."""
        with self._iterations(trips, [slots[0], *slots, sums]) as loop:
            last, slot, phase, total = loop.carried
            tile.mbarrier_wait(self.full, slot, phase)
            tile.wgmma_fence()
            with self.matched.dot.location:
                a, b = self._operands(slot)
                total = tile.wgmma(a, b, total, self.matched.codes)
            tile.wgmma_commit()
            tile.wgmma_wait(1)
            with control.branch(compare("sgt", loop.index, 0)):
                self._release(last)
            loop.following = [slot, *self._advanced((slot, phase)), total]
        return loop.results

    def _release(self, slot: Value) -> None:
        """Let each warp arrive at the slot's barrier, in the blocks that may fill it again."""
        arrival = self._arrive(slot, as_value(1, type=slot.type))
        arrival.attributes[tile.BY_WARPS] = UnitAttr.get()

    def _arrive(self, slot: Value, count: Value) -> Operation:
        if self.pair is None:
            return tile.mbarrier_arrive(self.empty, slot, count)
        mask = as_value((1 << BLOCKS) - 1, type=slot.type)
        if not isinstance(self.together, bool):
            own, all_at_own = arith.shli(count, self.rank), as_value(BLOCKS, type=slot.type)
            mask = arith.select(self.together, mask, own)
            count = arith.select(self.together, count, all_at_own)
        none = as_value(0, type=slot.type)
        arrival = tile.cluster_arrive((self.empty, slot), mask, count, none)
        arrival.attributes[tile.NO_WRITES] = UnitAttr.get()  # it has read the slot
        return arrival

    def _operands(self, slot: Value) -> list[Value]:
        views = []
        for operand, buffer in zip((self.matched.a, self.matched.b), self.buffers, strict=True):
            view = _slot(buffer, slot)
            views.append(view if operand.order == (0, 1) else _transposed(view))
        return views

    # --- both -------------------------------------------------------------------------------------

    def _iterations(
        self, trips: Number, carried: Sequence[Value]
    ) -> AbstractContextManager[control.Loop]:
        i32 = IntegerType.get_signless(32)
        bounds = [as_value(number, type=i32) for number in (0, trips, 1)]
        return control.loop(bounds[0], bounds[1], bounds[2], carried)

    def _advanced(self, slots: Slots) -> Slots:
        """The next slot, with the other parity when it wraps around to the first one."""
        slot = as_value(remainder(add(slots[0], 1), self.shape.slots), type=slots[0].type)
        is_first = arith.extui(slots[0].type, compare("eq", slot, 0))
        return slot, arith.xori(slots[1], is_first)


def _slot(buffer: Value, slot: Value, first_row: Number = 0, rows: int | None = None) -> Value:
    """A slot of a shared tensor, or some rows of it."""
    whole = MemRefType(buffer.type)
    shape = [rows or whole.shape[1], *list(whole.shape)[2:]]
    layout = StridedLayoutAttr.get(_UNKNOWN, whole.get_strides_and_offset()[0][1:])
    type = MemRefType.get(shape, whole.element_type, layout, whole.memory_space)
    starts: list[Number] = [slot, first_row]
    dynamic = [
        arith.index_cast(IndexType.get(), start) for start in starts if not isinstance(start, int)
    ]
    offsets = [start if isinstance(start, int) else _UNKNOWN for start in starts]
    made = memref.SubViewOp(type, buffer, dynamic, [], [], [*offsets, 0], [1, *shape], [1, 1, 1])
    return made.result


def _transposed(view: Value) -> Value:
    old = MemRefType(view.type)
    (steps, start), shape = old.get_strides_and_offset(), list(old.shape)
    layout = StridedLayoutAttr.get(start, steps[::-1])
    type = MemRefType.get(shape[::-1], old.element_type, layout, old.memory_space)
    return memref.transpose(type, view, AffineMap.get_permutation([1, 0]))


def clone(op: Operation, mapped: dict[Value, Value]) -> Operation:
    """Clone an operation with mapped operands, and map its results."""
    made = op.clone().operation
    for inner in all_operations(made):
        for number, operand in enumerate(inner.operands):
            if operand in mapped:
                inner.operands[number] = mapped[operand]
    mapped.update(zip(op.results, made.results, strict=True))
    return made


def copied_by(matched: DotLoop, before: Sequence[Operation]) -> list[Operation]:
    """The operations before a loop that the copying warp executes as well."""
    forms = [form for operand in (matched.a, matched.b) for form in operand.offsets]
    needed = {matched.forms.values[key] for form in forms for key, _ in form.terms}
    needed.update(list(matched.loop.operands)[:2])
    return _needed(before, needed)


def _needed(ops: Sequence[Operation], values: set[Value]) -> list[Operation]:
    """The operations that `values` depend on, in order."""
    wanted, found = set(values), []
    for op in reversed(ops):
        if any(result in wanted for result in op.results):
            found.append(op)
            wanted.update(op.operands)
    return found[::-1]


def _bytes_of(view: Value) -> int:
    type = MemRefType(view.type)
    return int(math.prod(type.shape)) * bytes_of(type.element_type)

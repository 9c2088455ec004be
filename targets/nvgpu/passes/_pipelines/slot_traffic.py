# SPDX-License-Identifier: Apache-2.0
"""Finds the tiles that a loop reads from asynchronously copied slots, and checks its waits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xtc.ir.builders.tile import dims_of, number_of
from xtc.ir.mlir import DenseI64ArrayAttr, MemRefType, Operation, ShapedType, Value
from xtc_targets.nvgpu.passes._pipelines.declined import Declined
from xtc_targets.nvgpu.passes._pipelines.loop_forms import Form, Key, LoopForms
from xtc_targets.nvgpu.passes._tiles.shared_parts import permutation

TRAFFIC = (
    *("tile.copy_async", "tile.commit_group", "tile.wait_group", "tile.wait_all"),
    *("tile.sync", "tile.load_shared"),
)
_MOST_SLOTS = 32
_DYNAMIC = ShapedType.get_dynamic_size()


@dataclass(frozen=True)
class SlotView:
    """A part of a shared tensor that is filled and read as a whole.

    Attributes:
        root: the allocation.
        slot: the index of the part; None for the whole tensor.
        order: the dimension of the part for each dimension of the view.
    """

    root: Operation
    slot: Form | None
    order: tuple[int, ...]


def slot_view(value: Value, forms: LoopForms, user: Operation) -> SlotView:
    """The slot that a value is a view of. Raises Declined for views of other parts."""
    op = value.owner.operation
    if op.name == "memref.cast":
        return slot_view(op.operands[0], forms, user)
    if op.name == "memref.transpose":
        inner = slot_view(op.operands[0], forms, user)
        order = permutation(op)
        return SlotView(inner.root, inner.slot, tuple(inner.order[dim] for dim in order))
    rank = len(MemRefType(value.type).shape)
    if op.name == "memref.alloc":
        return SlotView(op, None, tuple(range(rank)))
    root = op.operands[0].owner.operation if len(op.operands) else op
    if op.name != "memref.subview" or root.name != "memref.alloc":
        raise Declined("a tile in shared memory is not a slot of a shared tensor", user)
    offsets = list(DenseI64ArrayAttr(op.attributes["static_offsets"]))
    sizes = list(DenseI64ArrayAttr(op.attributes["static_sizes"]))
    whole = list(MemRefType(root.results[0].type).shape)
    is_slot = sizes == [1, *whole[1:]] and rank == len(whole) - 1 and not any(offsets[1:])
    slot = forms.of(op.operands[1] if offsets[0] == _DYNAMIC else int(offsets[0]))
    if not is_slot or slot is None or slot.terms or not slot.is_reduced:
        raise Declined("the slot of a shared tensor is unknown in some iteration", user)
    return SlotView(root, slot, tuple(range(rank)))


@dataclass
class _Slot:
    """The state of a slot: the offsets of its tile, the commit group of its copy, its readers."""

    contents: tuple[Form, ...]
    group: int
    has_landed: bool = False
    is_visible: bool = False
    is_read: bool = False


@dataclass(frozen=True)
class Stream:
    """The tiles that a loop reads through the slots of a shared tensor, one per iteration.

    Attributes:
        root: the allocation.
        copy: an operation that fills a slot.
        source: the global tensor.
        dims: its dimensions that the dimensions of a slot correspond to.
        offsets: the offsets of the tile that an iteration reads.
    """

    root: Operation
    copy: Operation
    source: Value
    dims: tuple[int, ...]
    offsets: tuple[Form, ...]


@dataclass
class Traffic:
    """Simulates copies, waits and reads in the code before a loop and in its first iterations."""

    forms: LoopForms
    trips: int | None
    slots: dict[tuple[Operation, int], _Slot] = field(default_factory=dict)
    copies: dict[Operation, list[Operation]] = field(default_factory=dict)
    read: dict[Operation, list[tuple[Form, ...]]] = field(default_factory=dict)
    group: int = 0

    def follow(self, before: Sequence[Operation], body: Sequence[Operation]) -> None:
        """Simulate both. Raises Declined if a read or a copy is not ordered correctly."""
        for op in before:
            self._run(op, 0)
        most = self.trips if self.trips is not None else 2 * _MOST_SLOTS
        for iteration in range(min(most, 2 * _MOST_SLOTS)):
            for op in body:
                self._run(op, iteration)

    def stream(self, load: Operation, root: Operation) -> Stream:
        """The tiles that a load reads. Raises Declined if their offsets have no constant step."""
        copies, tiles = self.copies[root], self.read[load]
        keys = {(self._key(copy.operands[0]), tuple(dims_of(copy))) for copy in copies}
        if len(keys) > 1:
            raise Declined("a shared tensor is filled from several tensors", copies[-1])
        steps = [0] * len(tiles[0])
        for number, tile in enumerate(tiles):
            apart = [form.less(first) for form, first in zip(tile, tiles[0], strict=True)]
            if None in apart:
                raise Declined("the tiles of a loop are not evenly apart", load)
            found = [each for each in apart if each is not None]
            steps = found if number == 1 else steps
            if found != [number * step for step in steps]:
                raise Declined("the tiles of a loop are not evenly apart", load)
        offsets = tuple(
            Form(form.constant, step, form.terms)
            for form, step in zip(tiles[0], steps, strict=True)
        )
        first = copies[0]
        return Stream(root, first, first.operands[0], tuple(dims_of(first)), offsets)

    def _key(self, tensor: Value) -> Key:
        op = tensor.owner.operation
        return (op.name, str(tensor.type), *map(self.forms.key, op.operands))

    def _run(self, op: Operation, iteration: int) -> None:
        if op.name == "tile.copy_async":
            self._copy(op, iteration)
        elif op.name == "tile.commit_group":
            self.group += 1
        elif op.name == "tile.wait_group":
            self._land(self.group - number_of(op, "n"))
        elif op.name == "tile.wait_all":
            self.group += 1
            self._land(self.group)
        elif op.name == "tile.sync":
            for slot in self.slots.values():
                slot.is_visible, slot.is_read = slot.has_landed, False
        elif op.name == "tile.load_shared":
            self._load(op, iteration)

    def _slot(self, value: Value, op: Operation, iteration: int) -> tuple[Operation, int]:
        view = slot_view(value, self.forms, op)
        return view.root, view.slot.at(iteration).constant if view.slot else 0

    def _copy(self, op: Operation, iteration: int) -> None:
        view = slot_view(op.operands[1], self.forms, op)
        key = self._slot(op.operands[1], op, iteration)
        old = self.slots.get(key)
        if old is not None and (old.is_read or not old.has_landed):
            raise Declined("a copy overwrites a slot that is still in use", op)
        found = [self.forms.of(value) for value in list(op.operands)[2:]]
        offsets = tuple(form.at(iteration) for form in found if form is not None)
        if len(offsets) != len(found) or any(form.modulus for form in offsets):
            raise Declined("the offset of a copy is not linear in the iteration", op)
        if view.order != tuple(range(len(view.order))) or not 0 <= key[1] < _MOST_SLOTS:
            raise Declined(
                "a copy fills a transposed slot, or one of more than the compiler tracks", op
            )
        self.slots[key] = _Slot(offsets, self.group)
        known = self.copies.setdefault(view.root, [])
        if op not in known:
            known.append(op)

    def _land(self, group: int) -> None:
        for slot in self.slots.values():
            slot.has_landed |= slot.group < group

    def _load(self, op: Operation, iteration: int) -> None:
        key = self._slot(op.operands[0], op, iteration)
        if key[0] not in self.copies:
            return
        slot = self.slots.get(key)
        if slot is None or not slot.is_visible:
            raise Declined("a tile is read before a wait and a sync", op)
        slot.is_read = True
        self.read.setdefault(op, []).append(slot.contents)

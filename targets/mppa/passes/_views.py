# SPDX-License-Identifier: Apache-2.0
"""Where a view's elements are: an offset from the start of its buffer, and strides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xtc.core.buffers import VIEWS, root
from xtc.core.mlir import (
    DenseI32ArrayAttr,
    DenseI64ArrayAttr,
    IndexType,
    MemRefType,
    Operation,
    OpResult,
    StridedLayoutAttr,
    Value,
)
from xtc_passes._build import Offset
from xtc_targets.mppa.passes import _control as control

DYNAMIC = -(1 << 63)
_FOLLOWED = ("memref.subview", "memref.cast", "memref.collapse_shape", "memref.expand_shape")


@dataclass(frozen=True)
class Place:
    """A part of a buffer; offset and strides in elements."""

    buffer: Value
    offset: Offset
    sizes: tuple[Offset, ...]
    strides: tuple[int, ...]

    @property
    def element_bytes(self) -> int:
        """Bytes of an element in memory."""
        return element_bytes(self.buffer)

    def address(self, ahead: Offset = 0) -> Value:
        """The address of its first element, or of the one so many elements after it."""
        start = Operation.create(
            "memref.extract_aligned_pointer_as_index",
            results=[IndexType.get()],
            operands=[self.buffer],
        ).results[0]
        elements = control.add(self.offset, ahead)
        return control.value(control.add(start, control.multiply(elements, self.element_bytes)))


def element_bytes(memref: Value) -> int:
    """Bytes of an element in memory; index counts as 8, a truth as 1."""
    element = MemRefType(memref.type).element_type
    return max(1, 8 if isinstance(element, IndexType) else element.width // 8)


def strides_of(memref: Value) -> tuple[int, ...] | None:
    """The distances between neighbours in elements; None where one is known at run time only."""
    strides = _strides(memref)
    return None if DYNAMIC in strides else strides


def _strides(memref: Value) -> tuple[int, ...]:
    return tuple(MemRefType(memref.type).get_strides_and_offset()[0])


def is_placed(memref: Value) -> bool:
    """Whether `place` can say where a view is."""
    while strides_of(memref) is not None:
        if not isinstance(memref, OpResult) or memref.owner.name not in VIEWS:
            return bool(MemRefType(memref.type).get_strides_and_offset()[1] == 0)
        if memref.owner.name not in _FOLLOWED:
            return False
        memref = memref.owner.operands[0]
    return False


def place(memref: Value) -> Place:
    """Where a view is that `is_placed`; computed at the current insertion point."""
    return Place(root(memref), _offset(memref), sizes(memref), _strides(memref))


def _offset(memref: Value) -> Offset:
    total: Offset = 0
    while isinstance(memref, OpResult) and memref.owner.name in VIEWS:
        op = memref.owner
        source = op.operands[0]
        if op.name == "memref.subview":
            offsets = mixed(op, "static_offsets", 1)
            for offset, stride in zip(offsets, _strides(source), strict=True):
                total = control.add(total, control.multiply(offset, stride))
        memref = source
    return total


def mixed(op: Operation, name: str, segment: int) -> list[Offset]:
    """Offsets, sizes or strides of a subview: its segments 1, 2 and 3."""
    segments = list(op.attributes["operandSegmentSizes"])
    begin = sum(segments[:segment])
    dynamic = iter(list(op.operands)[begin : begin + segments[segment]])
    static = DenseI64ArrayAttr(op.attributes[name])
    return [control.known(next(dynamic)) if one == DYNAMIC else one for one in static]


def sizes(memref: Value) -> tuple[Offset, ...]:
    """The sizes of a view; what is not known is asked for at the current insertion point."""
    return tuple(size(memref, position) for position in range(MemRefType(memref.type).rank))


def size(memref: Value, position: int) -> Offset:
    """One size of a view; asked for at the current insertion point where it is not known."""
    known: int = MemRefType(memref.type).shape[position]
    if known != DYNAMIC:
        return known
    operands = [memref, control.constant(position)]
    return Operation.create("memref.dim", results=[IndexType.get()], operands=operands).results[0]


def nbytes(type: MemRefType) -> int:
    """Bytes of a dense buffer of static shape."""
    element = type.element_type
    total = max(1, 8 if isinstance(element, IndexType) else int(element.width) // 8)
    for size in type.shape:
        total *= size
    return total


def slot_of(buffer: Value, slot: Offset) -> Value:
    """The part of a buffer at one index of its first dimension."""
    type = MemRefType(buffer.type)
    _, *shape = type.shape
    return subview(buffer, [slot, *[0] * len(shape)], [1, *shape], dropped=1)


def subview(
    buffer: Value, offsets: Sequence[Offset], shape: Sequence[int], dropped: int = 0
) -> Value:
    """A part with strides of 1, without its first `dropped` dimensions, which have size 1."""
    type = MemRefType(buffer.type)
    strides, _ = type.get_strides_and_offset()
    dynamic = [one for one in offsets if not isinstance(one, int)]
    start = DYNAMIC
    if not dynamic:
        start = sum(a * b for a, b in zip(offsets, strides, strict=True))
    layout = StridedLayoutAttr.get(start, strides[dropped:])
    kept = list(shape[dropped:])
    return Operation.create(
        "memref.subview",
        results=[MemRefType.get(kept, type.element_type, layout, type.memory_space)],
        operands=[buffer, *dynamic],
        attributes={
            "static_offsets": DenseI64ArrayAttr.get(
                [one if isinstance(one, int) else DYNAMIC for one in offsets]
            ),
            "static_sizes": DenseI64ArrayAttr.get(list(shape)),
            "static_strides": DenseI64ArrayAttr.get([1] * len(shape)),
            "operandSegmentSizes": DenseI32ArrayAttr.get([1, len(dynamic), 0, 0]),
        },
    ).results[0]


def replace_buffer(buffer: Value, view: Value) -> None:
    """Use a view with the same strides in place of a buffer; views of it get an unknown offset."""
    uses = [use.owner.operation for use in buffer.uses]
    buffer.replace_all_uses_with(view)
    for op in uses:
        if op.name in VIEWS:
            forget_offset(op.results[0])


def forget_offset(view: Value) -> None:
    """Say that a view, and views of it, begin where is known at run time only."""
    type = MemRefType(view.type)
    strides, _ = type.get_strides_and_offset()
    layout = StridedLayoutAttr.get(DYNAMIC, strides)
    view.set_type(MemRefType.get(type.shape, type.element_type, layout, type.memory_space))
    for use in view.uses:
        if use.owner.name in VIEWS:
            forget_offset(use.owner.results[0])


def part(buffer: Value, wanted: Sequence[Offset]) -> Value:
    """The beginning of a buffer, of such sizes."""
    type = MemRefType(buffer.type)
    strides, _ = type.get_strides_and_offset()
    dynamic = [one for one in wanted if not isinstance(one, int)]
    static = [one if isinstance(one, int) else DYNAMIC for one in wanted]
    layout = StridedLayoutAttr.get(0, strides)
    return Operation.create(
        "memref.subview",
        results=[MemRefType.get(static, type.element_type, layout, type.memory_space)],
        operands=[buffer, *dynamic],
        attributes={
            "static_offsets": DenseI64ArrayAttr.get([0] * len(static)),
            "static_sizes": DenseI64ArrayAttr.get(static),
            "static_strides": DenseI64ArrayAttr.get([1] * len(static)),
            "operandSegmentSizes": DenseI32ArrayAttr.get([1, 0, len(dynamic), 0]),
        },
    ).results[0]


def replace_by_part(buffer: Value, view: Value) -> None:
    """Use a view with other strides in place of a buffer; subviews of it get these strides."""
    uses = [use.owner.operation for use in buffer.uses]
    buffer.replace_all_uses_with(view)
    for op in uses:
        if op.name == "memref.subview":
            _restride(op)


def _restride(op: Operation) -> None:
    """Infer the type of a subview again, from its source's type."""
    source, old = MemRefType(op.operands[0].type), MemRefType(op.results[0].type)
    strides, start = source.get_strides_and_offset()
    offsets = mixed(op, "static_offsets", 1)
    steps = mixed(op, "static_strides", 3)
    extents = mixed(op, "static_sizes", 2)
    kept = _kept(extents, list(old.shape))
    new = [
        stride * step if isinstance(step, int) and stride != DYNAMIC else DYNAMIC
        for stride, step in zip(strides, steps, strict=True)
    ]
    if start != DYNAMIC and all(isinstance(one, int) for one in offsets):
        start += sum(a * b for a, b in zip(offsets, strides, strict=True))
    else:
        start = DYNAMIC
    layout = StridedLayoutAttr.get(start, [new[position] for position in kept])
    op.results[0].set_type(MemRefType.get(old.shape, old.element_type, layout, old.memory_space))
    for use in op.results[0].uses:
        if use.owner.name == "memref.subview":
            _restride(use.owner.operation)


def _kept(extents: Sequence[Offset], shape: list[int]) -> list[int]:
    """The dimensions that a subview keeps: it may drop some of size 1."""
    kept: list[int] = []
    for position, extent in enumerate(extents):
        rest = len(extents) - position
        wanted = shape[len(kept)] if len(kept) < len(shape) else None
        fits = wanted == (extent if isinstance(extent, int) else DYNAMIC)
        if fits and (extent != 1 or rest <= len(shape) - len(kept) or wanted == 1):
            kept.append(position)
    return kept

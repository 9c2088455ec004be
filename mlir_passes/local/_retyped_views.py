# SPDX-License-Identifier: Apache-2.0
"""Replaces a buffer by a view, and updates the types of the views of that buffer."""

from __future__ import annotations

from collections.abc import Sequence

from xtc.ir.analysis.views import VIEWS
from xtc.ir.builders.slices import Offset
from xtc.ir.mlir import (
    MemRefType,
    Operation,
    StridedLayoutAttr,
    Value,
    memref,
)
from xtc_passes.local._view_layouts import DYNAMIC, mixed


def reallocated(alloc: Operation, type: MemRefType) -> Value:
    """A buffer of another, static shape with the attributes of an allocation."""
    created = memref.AllocOp(type, [], [])
    for name in alloc.attributes:
        if name != "operandSegmentSizes":
            created.operation.attributes[name] = alloc.attributes[name]
    return created.result


def slot_of(buffer: Value, slot: Offset) -> Value:
    """The slot of a buffer at one index of its first dimension."""
    type = MemRefType(buffer.type)
    _, *shape = type.shape
    return subview(buffer, [slot, *[0] * len(shape)], [1, *shape], dropped=1)


def subview(
    buffer: Value, offsets: Sequence[Offset], shape: Sequence[int], dropped: int = 0
) -> Value:
    """A subview with unit strides, without its first `dropped` dimensions, which have size 1."""
    type = MemRefType(buffer.type)
    strides, _ = type.get_strides_and_offset()
    dynamic = [number for number in offsets if not isinstance(number, int)]
    start = DYNAMIC
    if not dynamic:
        start = sum(a * b for a, b in zip(offsets, strides, strict=True))
    layout = StridedLayoutAttr.get(start, strides[dropped:])
    kept = list(shape[dropped:])
    static = [number if isinstance(number, int) else DYNAMIC for number in offsets]
    kept_type = MemRefType.get(kept, type.element_type, layout, type.memory_space)
    steps = [1] * len(shape)
    created = memref.SubViewOp(kept_type, buffer, dynamic, [], [], static, list(shape), steps)
    return created.result


def replace_buffer(buffer: Value, view: Value) -> None:
    """Replace a buffer by a view with the same strides; views of it get a dynamic offset."""
    uses = [use.owner.operation for use in buffer.uses]
    buffer.replace_all_uses_with(view)
    for op in uses:
        if op.name in VIEWS:
            forget_offset(op.results[0])


def forget_offset(view: Value) -> None:
    """Make the offset of a view, and of the views of that view, dynamic."""
    type = MemRefType(view.type)
    strides, _ = type.get_strides_and_offset()
    layout = StridedLayoutAttr.get(DYNAMIC, strides)
    view.set_type(MemRefType.get(type.shape, type.element_type, layout, type.memory_space))
    for use in view.uses:
        if use.owner.name in VIEWS:
            forget_offset(use.owner.results[0])


def leading_part(buffer: Value, wanted: Sequence[Offset]) -> Value:
    """The first elements of a buffer, `wanted[d]` of them in dimension d."""
    type = MemRefType(buffer.type)
    strides, _ = type.get_strides_and_offset()
    dynamic = [number for number in wanted if not isinstance(number, int)]
    static = [number if isinstance(number, int) else DYNAMIC for number in wanted]
    layout = StridedLayoutAttr.get(0, strides)
    part = MemRefType.get(static, type.element_type, layout, type.memory_space)
    begin, steps = [0] * len(static), [1] * len(static)
    return memref.SubViewOp(part, buffer, [], dynamic, [], begin, static, steps).result


def replace_by_part(buffer: Value, view: Value) -> None:
    """Replace a buffer by a view with other strides; subviews of it get these strides."""
    uses = [use.owner.operation for use in buffer.uses]
    buffer.replace_all_uses_with(view)
    for op in uses:
        if op.name == "memref.subview":
            _restride(op)


def _restride(op: Operation) -> None:
    """Infer the types of a subview and of the subviews of it again."""
    retype_subview(op)
    for use in op.results[0].uses:
        if use.owner.name == "memref.subview":
            _restride(use.owner.operation)


def retype_subview(op: Operation) -> None:
    """Infer the type of a subview again, from its source's type."""
    source, old = MemRefType(op.operands[0].type), MemRefType(op.results[0].type)
    strides, start = source.get_strides_and_offset()
    offsets = mixed(op, "static_offsets", 1)
    steps = mixed(op, "static_strides", 3)
    extents = mixed(op, "static_sizes", 2)
    kept = kept_dimensions(extents, list(old.shape))
    new = [
        stride * step if isinstance(step, int) and stride != DYNAMIC else DYNAMIC
        for stride, step in zip(strides, steps, strict=True)
    ]
    if start != DYNAMIC and all(isinstance(number, int) for number in offsets):
        start += sum(a * b for a, b in zip(offsets, strides, strict=True))
    else:
        start = DYNAMIC
    layout = StridedLayoutAttr.get(start, [new[position] for position in kept])
    op.results[0].set_type(MemRefType.get(old.shape, old.element_type, layout, old.memory_space))


def kept_dimensions(extents: Sequence[Offset], shape: list[int]) -> list[int]:
    """The dimensions that a subview keeps; it may drop dimensions of size 1."""
    kept: list[int] = []
    for position, extent in enumerate(extents):
        rest = len(extents) - position
        wanted = shape[len(kept)] if len(kept) < len(shape) else None
        fits = wanted == (extent if isinstance(extent, int) else DYNAMIC)
        if fits and (extent != 1 or rest <= len(shape) - len(kept) or wanted == 1):
            kept.append(position)
    return kept

# SPDX-License-Identifier: Apache-2.0
"""Puts a view in the place of a buffer, and gives the views of that their new types."""

from __future__ import annotations

from collections.abc import Sequence

from xtc.ir.analysis.views import VIEWS
from xtc.ir.builders.tensors import Offset
from xtc.ir.mlir import (
    DenseI32ArrayAttr,
    DenseI64ArrayAttr,
    MemRefType,
    Operation,
    StridedLayoutAttr,
    Value,
)
from xtc_targets.mppa.passes._views import DYNAMIC, mixed


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

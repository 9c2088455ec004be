# SPDX-License-Identifier: Apache-2.0
"""The layout of a view in its buffer: an offset from the start of the buffer, sizes and strides."""

from __future__ import annotations

from dataclasses import dataclass

from xtc.ir.analysis.views import VIEWS, root
from xtc.ir.builders import numbers
from xtc.ir.builders.slices import Offset
from xtc.ir.mlir import (
    DenseI64ArrayAttr,
    IndexType,
    MemRefType,
    Operation,
    OpResult,
    Value,
    memref,
)

DYNAMIC = -(1 << 63)
_FOLLOWED = ("memref.subview", "memref.cast", "memref.collapse_shape", "memref.expand_shape")


@dataclass(frozen=True)
class Layout:
    """A view of a buffer. Offset and strides count elements."""

    buffer: Value
    offset: Offset
    sizes: tuple[Offset, ...]
    strides: tuple[int, ...]

    @property
    def element_bytes(self) -> int:
        """Bytes of an element in memory."""
        return element_bytes(self.buffer)

    def address(self, ahead: Offset = 0) -> Value:
        """The address of the element `ahead` elements after the first."""
        start = memref.extract_aligned_pointer_as_index(self.buffer)
        elements = numbers.add(self.offset, ahead)
        return numbers.as_value(numbers.add(start, numbers.multiply(elements, self.element_bytes)))


def element_bytes(view: Value) -> int:
    """Bytes of an element in memory; an index takes 8, an i1 takes 1."""
    element = MemRefType(view.type).element_type
    return max(1, 8 if isinstance(element, IndexType) else element.width // 8)


def strides_of(view: Value) -> tuple[int, ...] | None:
    """The strides of a memref in elements; None if one of them is known only at run time."""
    strides = _strides(view)
    return None if DYNAMIC in strides else strides


def _strides(view: Value) -> tuple[int, ...]:
    return tuple(MemRefType(view.type).get_strides_and_offset()[0])


def has_layout(view: Value) -> bool:
    """Whether `layout` can compute the layout of a view: its strides are static."""
    while strides_of(view) is not None:
        if not isinstance(view, OpResult) or view.owner.name not in VIEWS:
            return bool(MemRefType(view.type).get_strides_and_offset()[1] == 0)
        if view.owner.name not in _FOLLOWED:
            return False
        view = view.owner.operands[0]
    return False


def layout(view: Value) -> Layout:
    """The layout of a view that `has_layout`, computed at the current insertion point."""
    return Layout(root(view), _offset(view), sizes(view), _strides(view))


def _offset(view: Value) -> Offset:
    total: Offset = 0
    while isinstance(view, OpResult) and view.owner.name in VIEWS:
        op = view.owner
        source = op.operands[0]
        if op.name == "memref.subview":
            offsets = mixed(op, "static_offsets", 1)
            for offset, stride in zip(offsets, _strides(source), strict=True):
                total = numbers.add(total, numbers.multiply(offset, stride))
        view = source
    return total


def mixed(op: Operation, name: str, segment: int) -> list[Offset]:
    """The offsets, sizes or strides of a subview: operand segment 1, 2 or 3."""
    segments = list(op.attributes["operandSegmentSizes"])
    begin = sum(segments[:segment])
    dynamic = iter(list(op.operands)[begin : begin + segments[segment]])
    static = DenseI64ArrayAttr(op.attributes[name])
    return [numbers.known(next(dynamic)) if number == DYNAMIC else number for number in static]


def sizes(view: Value) -> tuple[Offset, ...]:
    """The sizes of a view; dynamic sizes are read at the current insertion point."""
    return tuple(size(view, position) for position in range(MemRefType(view.type).rank))


def size(view: Value, position: int) -> Offset:
    """One size of a view; a dynamic size is read at the current insertion point."""
    known: int = MemRefType(view.type).shape[position]
    if known != DYNAMIC:
        return known
    return memref.dim(view, numbers.constant(position))


def nbytes(type: MemRefType) -> int:
    """Bytes of a dense buffer of static shape."""
    element = type.element_type
    total = max(1, 8 if isinstance(element, IndexType) else int(element.width) // 8)
    for size in type.shape:
        total *= size
    return total

# SPDX-License-Identifier: Apache-2.0
"""Tensors, slices and subviews; offsets and sizes are ints or values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from xtc.ir.analysis.structured import shape_of
from xtc.ir.builders.numbers import Number
from xtc.ir.mlir import (
    DenseI64ArrayAttr,
    InsertionPoint,
    MemRefType,
    Operation,
    RankedTensorType,
    ShapedType,
    StridedLayoutAttr,
    Value,
    memref,
    tensor,
)

Offset: TypeAlias = Number
"""An offset or a size: an int if static, a value of type index if dynamic."""

_DYNAMIC = ShapedType.get_dynamic_size()


def tensor_type(shape: Sequence[Offset], like: Value) -> RankedTensorType:
    """A tensor type with this shape and the element type of `like`."""
    return RankedTensorType.get(_static(shape), like.type.element_type)


def empty(shape: Sequence[int], like: Value, ip: InsertionPoint | None = None) -> Value:
    """An uninitialized tensor with the element type of `like`."""
    return tensor.empty(list(shape), like.type.element_type, ip=ip)


def extract_slice(
    source: Value,
    offsets: Sequence[Offset],
    sizes: Sequence[Offset],
    ip: InsertionPoint | None = None,
    *,
    dropped: int = 0,
) -> Value:
    """The slice with unit strides at `offsets`; `source` itself if the slice covers it.

    The first `dropped` dimensions, each of size 1, are dropped.
    """
    if tuple(sizes) == shape_of(source) and not dropped:
        return source
    type = tensor_type(sizes[dropped:], source)
    return tensor.extract_slice(type, source, *_window(offsets, sizes), ip=ip)


def slice_offsets(op: Operation) -> list[Offset]:
    """The offsets of a `tensor.extract_slice`."""
    values = iter(list(op.operands)[1:])
    statics = DenseI64ArrayAttr(op.attributes["static_offsets"])
    return [next(values) if start < 0 else start for start in statics]


def insert_slice(
    source: Value,
    into: Value,
    offsets: Sequence[Offset],
    ip: InsertionPoint | None = None,
    sizes: Sequence[Offset] | None = None,
) -> Value:
    """`into` with `source` at `offsets`, unit strides; `sizes` default to those of `source`."""
    window = _window(offsets, shape_of(source) if sizes is None else sizes)
    return tensor.insert_slice(source, into, *window, ip=ip)


def insert_in_parallel(
    source: Value, into: Value, offsets: Sequence[Offset], ip: InsertionPoint | None = None
) -> None:
    """Insert `source` into the shared output `into` of a parallel loop, with unit strides."""
    tensor.parallel_insert_slice(source, into, *_window(offsets, shape_of(source)), ip=ip)


def subview(
    source: Value,
    offsets: Sequence[Offset],
    sizes: Sequence[int],
    strides: Sequence[int],
    ip: InsertionPoint | None = None,
    *,
    dropped: bool = False,
) -> Value:
    """The elements `offset + i * stride`, `i < size`, of each dimension of a buffer.

    `dropped` drops the last dimension, of size 1.
    """
    old = source.type
    steps, start = old.get_strides_and_offset()
    known = [offset for offset in offsets if isinstance(offset, int)]
    if len(known) < len(offsets):
        start = _DYNAMIC
    if start != _DYNAMIC:
        start += sum(step * offset for step, offset in zip(steps, known, strict=True))
    rank = len(sizes) - dropped
    pairs = list(zip(steps, strides, strict=True))[:rank]
    layout = StridedLayoutAttr.get(start, [step * stride for step, stride in pairs])
    type = MemRefType.get(list(sizes[:rank]), old.element_type, layout, old.memory_space)
    window = (list(offsets), list(sizes), list(strides))
    return memref.subview(source, *window, result_type=type, ip=ip)


Window = tuple[list[Value], list[Value], list[Value], list[int], list[int], list[int]]


def _window(offsets: Sequence[Offset], sizes: Sequence[Offset]) -> Window:
    """The dynamic, then the static offsets, sizes and strides of a slice with unit strides."""
    steps = [1] * len(sizes)
    return _dynamic(offsets), _dynamic(sizes), [], _static(offsets), _static(sizes), steps


def _dynamic(numbers: Sequence[Offset]) -> list[Value]:
    return [number for number in numbers if not isinstance(number, int)]


def _static(numbers: Sequence[Offset]) -> list[int]:
    return [number if isinstance(number, int) else _DYNAMIC for number in numbers]

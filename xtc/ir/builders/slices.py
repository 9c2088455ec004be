# SPDX-License-Identifier: Apache-2.0
"""Tensors, slices of tensors and views of buffers; offsets and sizes are ints or values."""

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
"""An offset or a size: an int where it is known, a value of type index where not."""

_DYNAMIC = ShapedType.get_dynamic_size()


def tensor_type(shape: Sequence[Offset], like: Value) -> RankedTensorType:
    """A tensor of this shape with the elements of `like`; a size that is a value is dynamic."""
    return RankedTensorType.get(_static(shape), like.type.element_type)


def empty(shape: Sequence[int], like: Value, ip: InsertionPoint | None = None) -> Value:
    """A tensor without contents, of the elements of `like`."""
    return tensor.empty(list(shape), like.type.element_type, ip=ip)


def extract_slice(
    source: Value,
    offsets: Sequence[Offset],
    sizes: Sequence[Offset],
    ip: InsertionPoint | None = None,
    *,
    dropped: int = 0,
) -> Value:
    """The slice of step 1 that begins at `offsets`; `source` itself where that is all of it.

    The first `dropped` dimensions, of size 1, are dropped.
    """
    if tuple(sizes) == shape_of(source) and not dropped:
        return source
    type = tensor_type(sizes[dropped:], source)
    return tensor.extract_slice(type, source, *_window(offsets, sizes), ip=ip)


def slice_offsets(op: Operation) -> list[Offset]:
    """Where a `tensor.extract_slice` begins, in each dimension."""
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
    """`into` with `source` at `offsets`, step 1; `sizes` are those of `source` unless given."""
    window = _window(offsets, shape_of(source) if sizes is None else sizes)
    return tensor.insert_slice(source, into, *window, ip=ip)


def insert_in_parallel(
    source: Value, into: Value, offsets: Sequence[Offset], ip: InsertionPoint | None = None
) -> None:
    """Write `source` to `into`, which iterations of a parallel loop share, at `offsets`, step 1."""
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
    """The elements `offset + i * stride`, i below `size`, of each dimension of a buffer.

    The last dimension, of size 1, may be dropped.
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
    """Dynamic offsets, sizes and strides of a slice of step 1, then the static ones."""
    steps = [1] * len(sizes)
    return _dynamic(offsets), _dynamic(sizes), [], _static(offsets), _static(sizes), steps


def _dynamic(numbers: Sequence[Offset]) -> list[Value]:
    return [number for number in numbers if not isinstance(number, int)]


def _static(numbers: Sequence[Offset]) -> list[int]:
    return [number if isinstance(number, int) else _DYNAMIC for number in numbers]

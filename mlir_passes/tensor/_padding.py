# SPDX-License-Identifier: Apache-2.0
"""Padded tensors: a tensor inserted into a larger tensor that is filled with a value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from xtc.ir.analysis.linalg_ops import owner
from xtc.ir.analysis.structured import labels, shape_of
from xtc.ir.builders import generic
from xtc.ir.builders.slices import Offset, extract_slice, insert_slice
from xtc.ir.mlir import InsertionPoint, Operation, Value

_STORED = ("bufferization.to_tensor", "arith.constant")
_RESHAPES = ("tensor.expand_shape", "tensor.collapse_shape")


@dataclass(frozen=True)
class Padding:
    """An insertion at constant offsets with step 1, and its fill, which has no other user."""

    op: Operation
    fill: Operation

    @property
    def inside(self) -> Value:
        """The tensor that is padded."""
        return self.op.operands[0]

    @property
    def result(self) -> Value:
        """The padded tensor: the inside and its border."""
        return self.op.results[0]

    @property
    def offsets(self) -> tuple[int, ...]:
        """The offsets of the inside."""
        return tuple(self.op.attributes["static_offsets"])


class Slab(NamedTuple):
    """A part of a tensor: its offsets and sizes."""

    offsets: tuple[int, ...]
    sizes: tuple[int, ...]


def padding_of(op: Operation) -> Padding | None:
    """The padding that an operation completes; None for another operation."""
    if op.name != "tensor.insert_slice" or len(op.operands) != 2:
        return None
    source, into = op.operands
    plain = all(stride == 1 for stride in op.attributes["static_strides"])
    fill = owner(into)
    if not plain or len(shape_of(source)) != len(shape_of(into)):
        return None
    if fill is None or fill.name != "linalg.fill" or len(list(into.uses)) != 1:
        return None
    return Padding(op, fill)


def slabs(shape: Sequence[int], offsets: Sequence[int], sizes: Sequence[int]) -> Iterator[Slab]:
    """Disjoint parts of a tensor that cover all but the inside at `offsets`."""
    for d, (extent, start, size) in enumerate(zip(shape, offsets, sizes, strict=True)):
        for first, count in ((0, start), (start + size, extent - start - size)):
            if count:
                yield Slab(
                    (*offsets[:d], first, *(0 for _ in shape[d + 1 :])),
                    (*sizes[:d], count, *shape[d + 1 :]),
                )


def filled(
    padding: Padding,
    around: Value,
    offsets: Sequence[Offset],
    sizes: Sequence[int],
    ip: InsertionPoint,
) -> Value:
    """A tensor with one part filled with the value of the padding."""
    fill, value = padding.fill, padding.fill.operands[0]
    part = extract_slice(around, offsets, sizes, ip)
    new = generic.fill(value, part, labels(fill), ip)
    return insert_slice(new.results[0], around, offsets, ip)


def is_stored(value: Value) -> bool:
    """Whether a tensor is already in a buffer, possibly reshaped."""
    producer = owner(value)
    while producer is not None and producer.name in _RESHAPES:
        producer = owner(producer.operands[0])
    return producer is None or producer.name in _STORED

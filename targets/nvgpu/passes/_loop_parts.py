# SPDX-License-Identifier: Apache-2.0
"""Cuts a reduction loop into parts: the views of its operands, and the initial partial results."""

from __future__ import annotations

from collections.abc import Sequence

from xtc.ir.analysis.indices import Index
from xtc.ir.analysis.structured import shape_of
from xtc.ir.builders.slices import empty
from xtc.ir.mlir import InsertionPoint, RankedTensorType, Value, tensor


def cut_row(row: tuple[Index, ...], loop: int, part: Index) -> list[Index]:
    """The index of an operand with `part` before the index of the loop that is cut."""
    return [
        loop_or_index
        for index in row
        for loop_or_index in ([part, index] if index.loop == loop else [index])
    ]


def cut(value: Value, row: tuple[Index, ...], loop: int, parts: int, ip: InsertionPoint) -> Value:
    """An operand with an additional dimension for parts, where `loop` indexes it."""
    if not any(index.loop == loop for index in row):
        return value
    shape: list[int] = []
    groups = []
    for index, size in zip(row, shape_of(value), strict=True):
        sizes = [parts, size // parts] if index.loop == loop else [size]
        groups.append(list(range(len(shape), len(shape) + len(sizes))))
        shape += sizes
    type = RankedTensorType.get(shape, value.type.element_type)
    return tensor.expand_shape(type, value, groups, [], shape, ip=ip)


def wider(start: Value, shape: Sequence[int], ip: InsertionPoint) -> Value:
    """The initial value of a result, filled with one number, in another shape."""
    out = empty(shape, start, ip)
    wide = start.owner.operation.clone(ip=ip).operation
    wide.operands[1] = out
    wide.results[0].set_type(out.type)
    return wide.results[0]

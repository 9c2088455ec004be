# SPDX-License-Identifier: Apache-2.0
"""Cuts a reduction loop into parts: the views of its operands, the initial partial results, and
their combination."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xtc.ir.analysis.indices import Index
from xtc.ir.analysis.structured import shape_of
from xtc.ir.builders.generic import generic, yield_
from xtc.ir.builders.slices import empty
from xtc.ir.mlir import Attribute, InsertionPoint, RankedTensorType, Value, tensor

MOST_PARTS = 64
"""Maximum number of parts that are combined elementwise, each in a separate operand."""


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


def combined_parts(
    partial: Value,
    attributes: Mapping[str, Attribute],
    combine: Callable[[Value, Value, InsertionPoint], Value],
    ip: InsertionPoint,
) -> Value:
    """Combine the parts, which the first dimension of `partial` numbers, elementwise and in order.

    Each part is an operand of the operation.
    """
    parts, *shape = shape_of(partial)
    row = [Index(((loop, 1),), 0) for loop in range(len(shape))]
    operands = [(partial, [Index((), number), *row]) for number in range(parts)]
    out = empty(shape, partial, ip)
    op = generic([*operands, (out, row)], len(shape), (), attributes, ip)
    body = op.regions[0].blocks[0]
    inner = InsertionPoint(body)
    total, *others = list(body.arguments)[:-1]
    for other in others:
        total = combine(total, other, inner)
    yield_([total], inner)
    return op.results[0]

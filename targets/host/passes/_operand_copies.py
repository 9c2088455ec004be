# SPDX-License-Identifier: Apache-2.0
"""Copies of a contraction's operands in another layout, type or size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xtc.ir.analysis.indices import Index
from xtc.ir.analysis.linalg_ops import owner
from xtc.ir.analysis.structured import shape_of
from xtc.ir.builders.generic import generic
from xtc.ir.builders.slices import empty, insert_slice, tensor_type
from xtc.ir.mlir import (
    DenseI64ArrayAttr,
    FloatType,
    InsertionPoint,
    Type,
    Value,
    arith,
    tensor,
)
from xtc_targets.host.passes._contraction_bodies import BodyWriter, Constructor


@dataclass(frozen=True)
class Body:
    """The operation of a copy on each element.

    Attributes:
        make: a constructor such as `arith.extf`, with two operands if there is a constant; None for
            a plain copy.
        element: the new element type, in MLIR's spelling; "" keeps the old one.
        constant: the second operand.
    """

    make: Constructor | None = None
    element: str = ""
    constant: int | None = None


def axis(loop: int) -> Index:
    """An index that is a single loop."""
    return Index(((loop, 1),), 0)


def constant(type: Type, number: int, ip: InsertionPoint) -> Value:
    """A constant of this type."""
    return arith.constant(type, float(number) if isinstance(type, FloatType) else number, ip=ip)


def split(value: Value, dimension: int, size: int, ip: InsertionPoint) -> Value:
    """A view in which a dimension is split in two, the second of `size`."""
    shape = shape_of(value)
    new = [*shape[:dimension], shape[dimension] // size, size, *shape[dimension + 1 :]]
    groups = [[d + (d > dimension)] for d in range(len(shape))]
    groups[dimension].append(dimension + 1)
    return tensor.expand_shape(tensor_type(new, value), value, groups, [], new, ip=ip)


def copied(
    value: Value,
    loops: Sequence[int],
    wanted: Sequence[int],
    body: Body,
    ip: InsertionPoint,
) -> Value:
    """A copy of a tensor: `loops` index its dimensions, and `wanted` those of the copy."""
    sizes = dict(zip(loops, shape_of(value), strict=True))
    element = Type.parse(body.element) if body.element else value.type.element_type
    target = tensor.empty([sizes[loop] for loop in wanted], element, ip=ip)
    position = {loop: number for number, loop in enumerate(wanted)}
    rows = [[axis(position[loop]) for loop in order] for order in (loops, wanted)]
    operands = list(zip((value, target), rows, strict=True))
    op = generic(operands, len(wanted), (), {}, ip)
    write = BodyWriter.of(op)
    result = write.block.arguments[0]
    if body.make is not None and body.constant is not None:
        result = write.op(body.make, result, constant(result.type, body.constant, write.end))
    elif body.make is not None:
        result = write.op(body.make, element, result)
    write.finish(result)
    return op.results[0]


def padded(value: Value, sizes: Sequence[int], ip: InsertionPoint) -> Value:
    """A tensor of these sizes: `value` padded with zeros, or `value` itself if it has them."""
    if tuple(sizes) == shape_of(value):
        return value
    around = zeros(sizes, value, ip)
    return insert_slice(value, around, [0] * len(sizes), ip)


def zeros(sizes: Sequence[int], like: Value, ip: InsertionPoint) -> Value:
    """A tensor of zeros with the element type of `like`."""
    target = empty(sizes, like, ip)
    op = generic([(target, [axis(n) for n in range(len(sizes))])], len(sizes), (), {}, ip)
    write = BodyWriter.of(op)
    write.finish(constant(like.type.element_type, 0, write.end))
    return op.results[0]


def untransposed(value: Value, loops: Sequence[int]) -> tuple[Value, list[int]]:
    """The source of a transposed tensor, and the loops over its dimensions."""
    producer = owner(value)
    if producer is None or producer.name != "linalg.transpose":
        return value, list(loops)
    order = list(DenseI64ArrayAttr(producer.attributes["permutation"]))
    return producer.operands[0], [loops[order.index(d)] for d in range(len(order))]

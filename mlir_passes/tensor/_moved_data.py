# SPDX-License-Identifier: Apache-2.0
"""Data movement as computation: each element of a padded or reshaped tensor by where it comes from.

What moves data (padding, slices, concatenation, reshapes, transposes) has no loops that could be
tiled. Written as a `linalg.generic` that looks its elements up, it can be fused like any producer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce

from xtc.ir.analysis import linalg_ops as linalg
from xtc.ir.analysis.indices import Index
from xtc.ir.builders import numbers
from xtc.ir.builders.generic import generic, loop_index, yield_
from xtc.ir.builders.numbers import Number
from xtc.ir.builders.slices import empty
from xtc.ir.mlir import (
    ArrayAttr,
    DenseI64ArrayAttr,
    InsertionPoint,
    IntegerAttr,
    Operation,
    RankedTensorType,
    Value,
    arith,
    tensor,
    ub,
)

_Point = Sequence[Number]


def moves_data(value: Value) -> bool:
    """Whether an operation of known sizes computes `value` that only moves data."""
    owner = linalg.owner(value)
    if owner is None or owner.name not in _READERS:
        return False
    if owner.name.endswith("_slice"):
        return _is_plain_slice(owner, value)
    return all(v.type.has_static_shape for v in (value, *owner.operands))


def look_up(op: Operation, operand: int) -> None:
    """Let an operand that is moved data be the result of a `linalg.generic`, before `op`."""
    value = op.operands[operand]
    shape = RankedTensorType(value.type).shape
    before = InsertionPoint(op)
    with op.context, op.location:
        row = [Index(((loop, 1),), 0) for loop in range(len(shape))]
        into = empty(shape, value, before)
        found = generic([(into, row)], len(shape), (), {}, before)
        with InsertionPoint(found.regions[0].blocks[0]):
            point = [loop_index(dimension) for dimension in range(len(shape))]
            yield_([_element(value, point)])
    op.operands[operand] = found.results[0]


def _is_plain_slice(op: Operation, value: Value) -> bool:
    """Whether numbers are known and, as ours do, it leaves out no dimension."""
    tensors = 1 if op.name == "tensor.extract_slice" else 2
    strides = list(DenseI64ArrayAttr(op.attributes["static_strides"]))
    ranks = {len(RankedTensorType(v.type).shape) for v in (value, op.operands[0])}
    return (
        len(op.operands) == tensors
        and len(ranks) == 1
        and all(v.type.has_static_shape for v in op.operands)
        and (tensors == 1 or set(strides) <= {1})
    )


def _element(value: Value, point: _Point) -> Value:
    """The element of a tensor at a point, from where it was before it was moved."""
    owner = linalg.owner(value)
    if owner is not None and owner.name == "linalg.fill":
        return owner.operands[0]
    if owner is not None and owner.name == "tensor.empty":
        return ub.poison(value.type.element_type)
    if owner is not None and moves_data(value):
        return _READERS[owner.name](owner, point)
    return tensor.extract(value, [numbers.as_value(number) for number in point])


def _inserted(op: Operation, point: _Point) -> Value:
    """An element of the slice where the point is in it, else of what it was written into.

    Both are read, that of the slice at the nearest place in it: there is no branch in the loops.
    """
    source, into = op.operands[0], op.operands[1]
    bounds = zip(_starts(op), source.type.shape, into.type.shape, strict=True)
    inside: list[Value] = []
    moved: list[Number] = []
    for number, (start, size, whole) in zip(point, bounds, strict=True):
        position = numbers.subtract(number, start)
        if start > 0:
            inside.append(numbers.compare("sge", number, start))
            position = numbers.maximum(position, 0)
        if start + size < whole:
            inside.append(numbers.compare("slt", number, start + size))
            position = numbers.minimum(position, size - 1)
        moved.append(position)
    element = _element(source, moved)
    if not inside:
        return element
    return arith.select(reduce(arith.andi, inside), element, _element(into, point))


def _extracted(op: Operation, point: _Point) -> Value:
    strides = DenseI64ArrayAttr(op.attributes["static_strides"])
    terms = zip(point, _starts(op), strides, strict=True)
    moved = [
        numbers.add(numbers.multiply(number, stride), start) for number, start, stride in terms
    ]
    return _element(op.operands[0], moved)


def _starts(op: Operation) -> list[int]:
    return list(DenseI64ArrayAttr(op.attributes["static_offsets"]))


def _collapsed(op: Operation, point: _Point) -> Value:
    """Each number of the point is the place in a group of the source's dimensions."""
    shape = op.operands[0].type.shape
    moved: list[Number] = [0] * len(shape)
    for number, group in zip(point, _groups(op), strict=True):
        for position, dimension in enumerate(group):
            inner = math.prod(shape[other] for other in group[position + 1 :])
            digit = numbers.divide(number, inner)
            moved[dimension] = numbers.remainder(digit, shape[dimension]) if position else digit
    return _element(op.operands[0], moved)


def _expanded(op: Operation, point: _Point) -> Value:
    """The point's numbers in a group are the digits of one number of the source's."""
    shape = op.results[0].type.shape
    moved = []
    for group in _groups(op):
        terms = [
            (point[dimension], math.prod(shape[other] for other in group[position + 1 :]))
            for position, dimension in enumerate(group)
        ]
        moved.append(numbers.linear_offset(terms))
    return _element(op.operands[0], moved)


def _groups(op: Operation) -> list[list[int]]:
    found = ArrayAttr(op.attributes["reassociation"])
    return [[IntegerAttr(number).value for number in ArrayAttr(group)] for group in found]


def _transposed(op: Operation, point: _Point) -> Value:
    axes = list(DenseI64ArrayAttr(op.attributes["permutation"]))
    return _element(op.operands[0], [point[axes.index(d)] for d in range(len(axes))])


_READERS: dict[str, Callable[[Operation, _Point], Value]] = {
    "tensor.insert_slice": _inserted,
    "tensor.extract_slice": _extracted,
    "tensor.collapse_shape": _collapsed,
    "tensor.expand_shape": _expanded,
    "linalg.transpose": _transposed,
}

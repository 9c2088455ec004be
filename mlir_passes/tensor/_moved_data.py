# SPDX-License-Identifier: Apache-2.0
"""Writes data movement as computation that looks up each element at its source.

Data movement (padding, slices, concatenation, reshapes, transposes) has no loops that could be
tiled. As a `linalg.generic` that looks up its elements, it can be fused like any producer.
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
    """Whether the producer of `value` only moves data, and its sizes are known."""
    owner = linalg.owner(value)
    if owner is None or owner.name not in _READERS:
        return False
    if owner.name.endswith("_slice"):
        return _is_plain_slice(owner, value)
    return all(v.type.has_static_shape for v in (value, *owner.operands))


def look_up(op: Operation, operand: int) -> None:
    """Rewrite an operand that is moved data as the result of a `linalg.generic` before `op`."""
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
    """Whether offsets and sizes are known and no dimension is dropped."""
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
    """The element of a tensor at a point, read from its source before the data movement."""
    owner = linalg.owner(value)
    if owner is not None and owner.name == "linalg.fill":
        return owner.operands[0]
    if owner is not None and owner.name == "tensor.empty":
        return ub.poison(value.type.element_type)
    if owner is not None and moves_data(value):
        return _READERS[owner.name](owner, point)
    return tensor.extract(value, [numbers.as_value(number) for number in point])


def _inserted(op: Operation, point: _Point) -> Value:
    """The element at a point: of the inserted slice if the point is inside, else of the target.

    Both are read, the slice at its nearest point, so that the loops have no branch.
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
    """The element of a collapsed tensor: each coordinate linearizes a group of dimensions."""
    shape = op.operands[0].type.shape
    moved: list[Number] = [0] * len(shape)
    for number, group in zip(point, _groups(op), strict=True):
        for position, dimension in enumerate(group):
            inner = math.prod(shape[other] for other in group[position + 1 :])
            digit = numbers.divide(number, inner)
            moved[dimension] = numbers.remainder(digit, shape[dimension]) if position else digit
    return _element(op.operands[0], moved)


def _expanded(op: Operation, point: _Point) -> Value:
    """The element of an expanded tensor: the coordinates of a group form one of the source's."""
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

# SPDX-License-Identifier: Apache-2.0
"""Tensors with zeros behind their last elements, so that tiles divide them."""

from __future__ import annotations

from collections.abc import Sequence

from xtc.ir.analysis.indices import Index
from xtc.ir.analysis.structured import shape_of
from xtc.ir.attributes import DEVICE
from xtc.ir.builders.generic import generic
from xtc.ir.builders.numbers import index_constant
from xtc.ir.builders.tensors import empty
from xtc.ir.mlir import (
    FloatAttr,
    FloatType,
    IndexType,
    InsertionPoint,
    IntegerAttr,
    IntegerType,
    Operation,
    OpResult,
    Type,
    Value,
)

_LESS_UNSIGNED = 6  # arith.cmpi: ult


def padded(source: Value, sizes: Sequence[int], like: Operation) -> Value:
    """A tensor of at least as many elements in each dimension, `source` and zeros behind it.

    It is computed before `like`, and runs where that does. A tensor of equal elements gets more of
    them.
    """
    shape = shape_of(source)
    if tuple(sizes) == shape:
        return source
    ip = InsertionPoint(like)
    loops = range(len(shape))
    row = [Index(((loop, 1),), 0) for loop in loops]
    if isinstance(source, OpResult) and source.owner.name == "linalg.fill":
        return _filled(source.owner.operation, sizes, ip)
    kept = {DEVICE: like.attributes[DEVICE]} if DEVICE in like.attributes else {}
    out = empty(sizes, source, ip)
    op = generic([(out, row)], len(shape), (), kept, ip)
    with InsertionPoint(op.regions[0].blocks[0]):
        value = _element(source, sizes)
        Operation.create("linalg.yield", operands=[value])
    return op.results[0]


def _filled(fill: Operation, sizes: Sequence[int], ip: InsertionPoint) -> Value:
    """The same for a tensor of equal elements, which are as good as zeros."""
    out = empty(sizes, fill.results[0], ip)
    wide = fill.clone(ip=ip).operation
    wide.operands[1] = out
    wide.results[0].set_type(out.type)
    return wide.results[0]


def _element(source: Value, sizes: Sequence[int]) -> Value:
    """The element of `source` at the loops' counters, or zero where it has none."""
    type = source.type.element_type
    i1, predicate = IntegerType.get_signless(1), IntegerType.get_signless(64)
    less = {"predicate": IntegerAttr.get(predicate, _LESS_UNSIGNED)}
    places, inside = [], []
    ip = InsertionPoint.current
    for loop, (size, wide) in enumerate(zip(shape_of(source), sizes, strict=True)):
        number = {"dim": IntegerAttr.get(predicate, loop)}
        index = Operation.create("linalg.index", [IndexType.get()], attributes=number).results[0]
        if wide > size:
            bound, last = index_constant(size, ip), index_constant(size - 1, ip)
            inside.append(Operation.create("arith.cmpi", [i1], [index, bound], less).results[0])
            index = Operation.create("arith.minui", [index.type], [index, last]).results[0]
        places.append(index)
    value = Operation.create("tensor.extract", [type], [source, *places]).results[0]
    zero = Operation.create("arith.constant", [type], attributes={"value": _zero(type)})
    for condition in inside:
        operands = [condition, value, zero.results[0]]
        value = Operation.create("arith.select", [type], operands).results[0]
    return value


def _zero(type: Type) -> FloatAttr | IntegerAttr:
    if isinstance(type, FloatType):
        return FloatAttr.get(type, 0.0)
    return IntegerAttr.get(type, 0)

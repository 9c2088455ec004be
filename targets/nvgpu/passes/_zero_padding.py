# SPDX-License-Identifier: Apache-2.0
"""Tensors with zeros behind their last elements, so that tiles divide them."""

from __future__ import annotations

from collections.abc import Sequence

from xtc.ir.analysis.indices import Index
from xtc.ir.analysis.structured import shape_of
from xtc.ir.attributes import DEVICE
from xtc.ir.builders.generic import generic, loop_index, yield_
from xtc.ir.builders.numbers import compare, index_constant
from xtc.ir.builders.slices import empty
from xtc.ir.mlir import (
    FloatType,
    InsertionPoint,
    Operation,
    OpResult,
    Value,
    arith,
    tensor,
)


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
        yield_([_element(source, sizes)])
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
    indices, inside = [], []
    for loop, (size, wide) in enumerate(zip(shape_of(source), sizes, strict=True)):
        index = loop_index(loop)
        if wide > size:
            bound, last = index_constant(size), index_constant(size - 1)
            inside.append(compare("ult", index, bound))
            index = arith.minui(index, last)
        indices.append(index)
    value = tensor.extract(source, indices)
    zero = arith.constant(value.type, 0.0 if isinstance(value.type, FloatType) else 0)
    for condition in inside:
        value = arith.select(condition, value, zero)
    return value

# SPDX-License-Identifier: Apache-2.0
"""Pads tensors with zeros, so that tiles divide their sizes."""

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
    """`source`, padded with zeros to a larger size.

    The padding is computed before `like`, on the same device. A tensor of equal elements is
    extended with the same element.
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
    """The padded tensor for a tensor of equal elements, which need not be zeros."""
    out = empty(sizes, fill.results[0], ip)
    wide = fill.clone(ip=ip).operation
    wide.operands[1] = out
    wide.results[0].set_type(out.type)
    return wide.results[0]


def _element(source: Value, sizes: Sequence[int]) -> Value:
    """The element of `source` at the loop indices, or zero outside it."""
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

# SPDX-License-Identifier: Apache-2.0
"""Finds a known divisor of an offset."""

from __future__ import annotations

import math

from xtc.ir.analysis.indices import index_of
from xtc.ir.analysis.linalg_ops import owner
from xtc.ir.mlir import AffineMapAttr, BlockArgument, IntegerAttr, Operation, Value


def divisor(offset: Value) -> int:
    """A number that divides `offset` in every iteration; 0 if the offset is always 0."""
    op = owner(offset)
    if op is None:
        return _of_counter(offset)
    if op.name == "arith.constant":
        return abs(int(IntegerAttr(op.attributes["value"]).value))
    if op.name == "arith.muli":
        return math.prod(divisor(value) for value in op.operands)
    if op.name == "arith.addi":
        return math.gcd(*(divisor(value) for value in op.operands))
    return _of_map(op) if op.name == "affine.apply" else 1


def _of_map(op: Operation) -> int:
    (result,) = AffineMapAttr(op.attributes["map"]).value.results
    index = index_of(result)
    if index is None:
        return 1
    values = list(op.operands)
    terms = (factor * divisor(values[dim]) for dim, factor in index.factors)
    return math.gcd(index.offset, *terms)


def _of_counter(value: Value) -> int:
    """The known divisor of a loop index; 1 for other values."""
    block = BlockArgument(value).owner
    loop: Operation = block.owner.operation
    if loop.name != "scf.for" or BlockArgument(value).arg_number != 0:
        return 1
    start, _, step = list(loop.operands)[:3]
    return math.gcd(divisor(start), divisor(step))

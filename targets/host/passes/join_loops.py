# SPDX-License-Identifier: Apache-2.0
"""join-loops: collapses loops of elementwise operations over contiguous dimensions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.indices import Index
from xtc.ir.analysis.structured import Structured, body_operations, is_shaped, labels, structured
from xtc.ir.attributes import LOOP_DIMS
from xtc.ir.builders.generic import copy_body, generic
from xtc.ir.mlir import (
    InsertionPoint,
    MemRefType,
    Operation,
    StridedLayoutAttr,
    Value,
    memref,
    outer_operations,
)
from xtc.ir.passes import Pass

_Chains = list[list[int]]  # chains of loops, each of which becomes a single loop


@dataclass(frozen=True)
class JoinLoops(Pass):
    """Collapse dimensions that are contiguous in every buffer that has them.

    Rows and columns of an image are such dimensions, whatever the position of its channels. A loop
    over 196 pixels has twelve whole vectors of 16; fourteen loops over 14 pixels have none.

    Before:
        linalg.transpose ins(%a : memref<14x14x64xf32>) outs(%b : memref<64x14x14xf32>)
    After:
        linalg.generic of (i, j) -> (j, i)
          ins(%a2 : memref<196x64xf32>) outs(%b2 : memref<64x196xf32>)
    """

    name: ClassVar[str] = "join-loops"

    def run(self, module: Operation) -> None:
        found = [op for op in outer_operations(module) if op.name.startswith("linalg.")]
        with module.context:
            for op in found:
                nest = structured(op)
                if nest is None or not _is_suitable(nest):
                    continue
                chains = _chains(nest)
                if len(chains) < len(nest.extents):
                    with op.location:
                        _rewrite(nest, chains, InsertionPoint(op))


def _is_suitable(nest: Structured) -> bool:
    """Whether all loops are parallel, and one loop runs over each whole dimension of a buffer."""
    return (
        not nest.reductions
        and not any(op.name == "linalg.index" for op in body_operations(nest.op))
        and all(_is_walked_whole(nest, number) for number in range(len(nest.indices)))
    )


def _is_walked_whole(nest: Structured, number: int) -> bool:
    value, row = nest.op.operands[number], nest.indices[number]
    if not is_shaped(value):
        return True
    loops = [index.loop for index in row]
    return isinstance(value.type, MemRefType) and [
        nest.extents[loop] for loop in loops if loop is not None
    ] == list(value.type.shape)


def _chains(nest: Structured) -> _Chains:
    """The loops in the order of the result's dimensions, as chains of joinable loops."""
    chains = [[nest.out[0]]] if nest.out else []
    for first, second in itertools.pairwise(nest.out):
        if all(_is_one_run(nest, number, first, second) for number in range(len(nest.indices))):
            chains[-1].append(second)
        else:
            chains.append([second])
    return chains


def _is_one_run(nest: Structured, number: int, first: int, second: int) -> bool:
    """Whether the two loops are contiguous in an operand, if it has them at all."""
    loops = [index.loop for index in nest.indices[number]]
    if first not in loops and second not in loops:
        return True
    if first not in loops or second not in loops or loops.count(first) + loops.count(second) > 2:
        return False
    at = loops.index(first)
    if loops.index(second) != at + 1:
        return False
    strides, _ = nest.op.operands[number].type.get_strides_and_offset()
    return bool(strides[at] == strides[at + 1] * nest.extents[second])


def _rewrite(nest: Structured, chains: _Chains, ip: InsertionPoint) -> None:
    operands = [
        _collapsed(value, nest.indices[number], chains, ip)
        for number, value in enumerate(nest.op.operands)
    ]
    about = {name: value for name, value in labels(nest.op).items() if name != LOOP_DIMS}
    result = generic(operands, len(chains), (), about, ip)
    copy_body(nest.op, result)
    nest.op.erase()


def _collapsed(
    value: Value, row: Sequence[Index], chains: _Chains, ip: InsertionPoint
) -> tuple[Value, list[Index]]:
    """An operand with the dimensions of each chain collapsed, and its index."""
    own = [number for number, chain in enumerate(chains) if any(i.loop == chain[0] for i in row)]
    loops = [index.loop for index in row]
    own.sort(key=lambda number: loops.index(chains[number][0]))
    indices = [Index(((number, 1),), 0) for number in own]
    if len(own) == len(row):
        return value, indices
    groups, dims = [], iter(range(len(row)))
    for number in own:
        groups.append([next(dims) for _ in chains[number]])
    return memref.collapse_shape(_type(value.type, groups), value, groups, ip=ip), indices


def _type(type: MemRefType, groups: Sequence[Sequence[int]]) -> MemRefType:
    shape = [math.prod(type.shape[d] for d in group) for group in groups]
    if type == MemRefType.get(type.shape, type.element_type, None, type.memory_space):
        return MemRefType.get(shape, type.element_type, None, type.memory_space)
    strides, offset = type.get_strides_and_offset()
    layout = StridedLayoutAttr.get(offset, [strides[group[-1]] for group in groups])
    return MemRefType.get(shape, type.element_type, layout, type.memory_space)

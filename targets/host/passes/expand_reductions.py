# SPDX-License-Identifier: Apache-2.0
"""expand-reductions: lets contractions read computed weights in their shape before a reshape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.contractions import contraction
from xtc.ir.analysis.indices import Index
from xtc.ir.analysis.linalg_ops import is_from_constants, owner
from xtc.ir.analysis.structured import Structured, labels, shape_of, structured
from xtc.ir.attributes import LOOP_DIMS, LOOP_SCHEDULE
from xtc.ir.builders.generic import copy_body, generic
from xtc.ir.builders.slices import tensor_type
from xtc.ir.mlir import (
    ArrayAttr,
    InsertionPoint,
    Operation,
    StringAttr,
    Value,
    outer_operations,
    tensor,
)
from xtc.ir.passes import Pass

_COLLAPSE = "tensor.collapse_shape"


@dataclass(frozen=True)
class ExpandReductions(Pass):
    """Give a contraction one loop for each dimension that a reshape of its weights collapses.

    Quantized weights with a scale per group of the reduction are computed group by group, then
    reshaped. Without the reshape they can be computed in the loops that read them.

    Before:
        %w = tensor.collapse_shape %parts [[0, 1], [2]] : tensor<4x16x8xf32> into tensor<64x8xf32>
        linalg.matmul ins(%a, %w : tensor<2x64xf32>, tensor<64x8xf32>)
    After:
        %b = tensor.expand_shape %a : tensor<2x64xf32> into tensor<2x4x16xf32>
        linalg.generic indexing_maps = [(i, k0, k), (k0, k, j), (i, j)] ins(%b, %parts)
    """

    name: ClassVar[str] = "expand-reductions"

    def run(self, module: Operation) -> None:
        with module.context:
            for op in outer_operations(module):
                if op.name.startswith("linalg.") and LOOP_SCHEDULE not in op.attributes:
                    nest = structured(op)
                    if nest is not None and nest.device is None:
                        _expand(nest)


def _expand(nest: Structured) -> None:
    if contraction(nest) is None:
        return
    for number in range(nest.destination):
        reshape = owner(nest.op.operands[number])
        if reshape is not None and _joins_weights(reshape):
            parts = _parts(nest, number, reshape)
            if parts:
                _rewrite(nest, number, reshape.operands[0], parts)
                reshape.erase()
                return


def _joins_weights(reshape: Operation) -> bool:
    """Whether the reshape is of a computed constant, and has one reader."""
    if reshape.name != _COLLAPSE or len(list(reshape.results[0].uses)) != 1:
        return False
    computing = owner(reshape.operands[0])
    return (
        computing is not None
        and computing.name == "linalg.generic"
        and is_from_constants(reshape.operands[0])
    )


def _parts(nest: Structured, number: int, reshape: Operation) -> dict[int, tuple[int, ...]]:
    """The sizes of the new loops for each loop over a collapsed dimension; empty if impossible.

    Only reduction loops can be split, and only if they index one dimension of each operand.
    """
    source = shape_of(reshape.operands[0])
    groups = [list(group) for group in reshape.attributes["reassociation"]]
    parts: dict[int, tuple[int, ...]] = {}
    for dimension, group in enumerate(groups):
        sizes = tuple(source[int(position.value)] for position in group)
        loop = nest.indices[number][dimension].loop
        if len(sizes) == 1:
            continue
        if loop is None or loop not in nest.reductions or loop in parts:
            return {}
        parts[loop] = sizes
    plain = (
        nest.position(operand, loop) is not None
        for loop in parts
        for operand in range(nest.destination)
        if nest.uses_loop(operand, loop)
    )
    return parts if all(plain) else {}


def _rewrite(
    nest: Structured, number: int, source: Value, parts: dict[int, tuple[int, ...]]
) -> None:
    """The contraction with the new loops instead of the old ones."""
    loops: dict[int, list[int]] = {}
    names: list[str] = []
    old = [StringAttr(name).value for name in ArrayAttr(nest.op.attributes[LOOP_DIMS])]
    for loop in range(len(nest.extents)):
        count = len(parts.get(loop, ()))
        loops[loop] = list(range(len(names), len(names) + max(count, 1)))
        names += [_fresh(f"{old[loop]}{n}", [*old, *names]) for n in range(count - 1)]
        names.append(old[loop])
    ip = InsertionPoint(nest.op)
    with nest.op.location:
        operands = [
            source if n == number else _expanded(nest, n, parts, ip)
            for n in range(len(nest.indices))
        ]
        rows = [[index for i in row for index in _indices(i, loops)] for row in nest.indices]
        reductions = [new for loop in nest.reductions for new in loops[loop]]
        attributes = labels(nest.op) | {
            LOOP_DIMS: ArrayAttr.get([StringAttr.get(name) for name in names])
        }
        created = generic(
            list(zip(operands, rows, strict=True)), len(names), reductions, attributes, ip
        )
    copy_body(nest.op, created)
    nest.result.replace_all_uses_with(created.results[0])
    nest.op.erase()


def _fresh(name: str, taken: list[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _indices(index: Index, loops: dict[int, list[int]]) -> list[Index]:
    """The indices of the expanded dimensions."""
    if index.loop is not None:
        return [Index(((loop, 1),), 0) for loop in loops[index.loop]]
    return [index.renamed([loops[loop][0] for loop in range(len(loops))])]


def _expanded(
    nest: Structured, number: int, parts: dict[int, tuple[int, ...]], ip: InsertionPoint
) -> Value:
    """A view of an operand with the expanded dimensions."""
    value = nest.op.operands[number]
    sizes = [
        list(parts.get(index.loop, (size,))) if index.loop is not None else [size]
        for index, size in zip(nest.indices[number], shape_of(value), strict=True)
    ]
    shape = [size for group in sizes for size in group]
    if len(shape) == len(sizes):
        return value
    ends = [sum(map(len, sizes[: n + 1])) for n in range(len(sizes))]
    groups = [list(range(end - len(group), end)) for end, group in zip(ends, sizes, strict=True)]
    return tensor.expand_shape(tensor_type(shape, value), value, groups, [], shape, ip=ip)

# SPDX-License-Identifier: Apache-2.0
"""Removal of the unit-extent loops of linalg operations."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from xtc.ir.analysis.linalg_ops import dict_of, index_maps, input_count, trip_counts
from xtc.ir.builders.rebuild import rebuilt
from xtc.ir.mlir import (
    AffineConstantExpr,
    AffineDimExpr,
    AffineMap,
    AffineMapAttr,
    ArrayAttr,
    InsertionPoint,
    Operation,
    RankedTensorType,
    Value,
    tensor,
)


def without_unit_loops(op: Operation) -> Operation:
    """Replace a linalg.generic on tensors by one without its unit-extent loops.

    Rank-reducing slices drop the operand dimensions that only these loops index.
    """
    sizes = trip_counts(op)
    kept = [position for position, size in enumerate(sizes) if size != 1]
    if len(kept) == len(sizes):
        return op
    with op.context, op.location, InsertionPoint(op):
        maps = [_restricted(index_map, kept) for index_map in index_maps(op)]
        reduced = [_reduce(*pair) for pair in zip(op.operands, maps, strict=True)]
        kinds = op.attributes["iterator_types"]
        attributes = dict_of(op)
        attributes["indexing_maps"] = ArrayAttr.get([AffineMapAttr.get(m) for _, m in reduced])
        attributes["iterator_types"] = ArrayAttr.get([kinds[position] for position in kept])
        values = [value for value, _ in reduced]
        types = [value.type for value in values[input_count(op) :]]
        new = rebuilt(op, values, types, attributes)
        op.regions[0].blocks[0].append_to(new.regions[0])
        first = input_count(op)
        for old, result, number in zip(op.results, new.results, itertools.count(first)):
            old.replace_all_uses_with(_insert(result, op.operands[number], maps[number]))
        op.erase()
    return new


def _restricted(index_map: AffineMap, kept: Sequence[int]) -> AffineMap:
    """`index_map` as a function of the kept loops, with 0 for the others."""
    numbers = {old: new for new, old in enumerate(kept)}
    substitution = [
        AffineDimExpr.get(numbers[old]) if old in numbers else AffineConstantExpr.get(0)
        for old in range(index_map.n_dims)
    ]
    inner = AffineMap.get(len(kept), 0, substitution)
    return AffineMap.get(
        len(kept), 0, [expression.compose(inner) for expression in index_map.results]
    )


def _reduce(value: Value, index_map: AffineMap) -> tuple[Value, AffineMap]:
    """`value` without the dimensions that a constant indexes, and the remaining map."""
    left = [
        expression
        for expression in index_map.results
        if not isinstance(expression, AffineConstantExpr)
    ]
    if len(left) == len(index_map.results):
        return value, index_map
    shape = RankedTensorType(value.type).shape
    kept = [
        size
        for expression, size in zip(index_map.results, shape, strict=True)
        if not isinstance(expression, AffineConstantExpr)
    ]
    type = RankedTensorType.get(kept, value.type.element_type)
    slice = tensor.extract_slice(type, value, [], [], [], *_window(shape, index_map))
    return slice, AffineMap.get(index_map.n_dims, 0, left)


def _insert(result: Value, into: Value, index_map: AffineMap) -> Value:
    """`into` with `result` inserted at the constant indices of `index_map`."""
    if result.type == into.type:
        return result
    window = _window(RankedTensorType(into.type).shape, index_map)
    return tensor.insert_slice(result, into, [], [], [], *window)


def _window(shape: Sequence[int], index_map: AffineMap) -> tuple[list[int], list[int], list[int]]:
    """The offsets, sizes and strides of a whole tensor, except at constant indices."""
    offsets = [
        expression.value if isinstance(expression, AffineConstantExpr) else -1
        for expression in index_map.results
    ]
    sizes = [size if offset < 0 else 1 for offset, size in zip(offsets, shape, strict=True)]
    return [max(0, offset) for offset in offsets], sizes, [1] * len(sizes)

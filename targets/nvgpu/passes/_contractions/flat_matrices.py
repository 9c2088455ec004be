# SPDX-License-Identifier: Apache-2.0
"""Operands of contractions as matrices: several loops of a role become a single loop."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xtc.ir.analysis.indices import Index
from xtc.ir.analysis.structured import Structured, shape_of
from xtc.ir.builders.slices import tensor_type
from xtc.ir.mlir import InsertionPoint, Value, tensor

Row = Sequence[Index]


@dataclass(frozen=True)
class Group:
    """Loops of an operation that become a single loop, outermost first."""

    loops: tuple[int, ...]

    def extent(self, nest: Structured) -> int:
        """The iterations of the single loop."""
        return math.prod(nest.extents[loop] for loop in self.loops)

    def long(self, nest: Structured) -> tuple[int, ...]:
        """The loops that have more than one iteration."""
        return tuple(loop for loop in self.loops if nest.extents[loop] > 1)


@dataclass(frozen=True)
class Flat:
    """A reshape of an operand: the dimensions that are collapsed, and the new index."""

    dims: tuple[tuple[int, ...], ...]
    row: tuple[Index, ...]

    def collapse(self, value: Value, ip: InsertionPoint) -> Value:
        """The reshaped operand."""
        shape = shape_of(value)
        if len(self.dims) == len(shape):
            return value
        sizes = [math.prod(shape[dim] for dim in dims) for dims in self.dims]
        groups = [list(dims) for dims in self.dims]
        return tensor.collapse_shape(tensor_type(sizes, value), value, groups, ip=ip)

    def expand(self, value: Value, shape: Sequence[int], ip: InsertionPoint) -> Value:
        """A reshaped result in its original shape."""
        if len(self.dims) == len(shape):
            return value
        groups = [list(dims) for dims in self.dims]
        type = tensor_type(shape, value)
        return tensor.expand_shape(type, value, groups, [], list(shape), ip=ip)


def flat(nest: Structured, number: int, groups: Sequence[Group]) -> Flat | None:
    """The reshape of an operand whose groups are loops `0, 1, ..` of the new operation.

    None if the loops of a group are not those of adjacent dimensions in the same order. Loops with
    a single iteration may be missing.
    """
    dims: list[list[int]] = []
    row: list[Index] = []
    dimensions = list(nest.indices[number])
    at = 0
    while at < len(dimensions):
        loop = _loop(nest, dimensions[at])
        group = next((g for g, each in enumerate(groups) if loop in each.loops), None)
        if group is None:
            if dimensions[at].factors and loop is None:
                return None
            dims.append([at])
            row.append(Index((), dimensions[at].offset))
            at += 1
            continue
        run = _run(nest, dimensions[at:], groups[group])
        if run == 0 or any(index.loop == group for index in row):
            return None
        dims.append(list(range(at, at + run)))
        row.append(Index(((group, 1),), 0))
        at += run
    return Flat(tuple(map(tuple, dims)), tuple(row))


def _run(nest: Structured, dimensions: Row, group: Group) -> int:
    """The number of leading dimensions with exactly the loops of the group; 0 if there are none."""
    found = []
    for index in dimensions:
        if (loop := _loop(nest, index)) not in group.loops:
            break
        found.append(loop)
    long = tuple(loop for loop in found if nest.extents[loop] > 1)
    return len(found) if long == group.long(nest) else 0


def _loop(nest: Structured, index: Index) -> int | None:
    """The loop that walks a dimension alone; loops with a single iteration do not count."""
    factors = [term for term in index.factors if nest.extents[term[0]] > 1] or index.factors[:1]
    return Index(tuple(factors), index.offset).loop

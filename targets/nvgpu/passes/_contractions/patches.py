# SPDX-License-Identifier: Apache-2.0
"""The windows of an image as rows of a matrix, the patches, which are copied without its border."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from xtc.ir.analysis.indices import Index
from xtc.ir.analysis.linalg_ops import node_id, owner
from xtc.ir.analysis.structured import Structured, element_bits, shape_of
from xtc.ir.attributes import DEVICE, node_id_attribute
from xtc.ir.builders.affine import delinearized
from xtc.ir.builders.control import forall
from xtc.ir.builders.numbers import (
    Number,
    add,
    as_value,
    compare,
    index_constant,
    linear_offset,
    multiply,
)
from xtc.ir.builders.slices import empty, extract_slice
from xtc.ir.mlir import (
    AffineDimExpr,
    AffineMap,
    AffineMapAttr,
    ArrayAttr,
    Attribute,
    BoolAttr,
    InsertionPoint,
    Type,
    UnitAttr,
    Value,
    VectorType,
    arith,
    ub,
    vector,
)
from xtc_passes.tensor._padding import padding_of
from xtc_targets.nvgpu.description import ACCESS_BYTES
from xtc_targets.nvgpu.passes._contractions.flat_matrices import Group
from xtc_targets.nvgpu.passes._thread_code import zeros


def patches(
    nest: Structured,
    number: int,
    groups: Sequence[Group],
    sizes: Sequence[int],
    ip: InsertionPoint,
) -> Value:
    """A copy of an operand as a matrix: element (g0, g1, ..) is what the loops of these groups
    read, and zero beyond them, up to `sizes`.

    A thread writes up to 16 bytes. Of a padded operand, only the inside is read.
    """
    source = _Source.of(nest.op.operands[number], nest.indices[number])
    copy = _Copy(nest, groups, tuple(sizes), source)
    into = empty(sizes, source.tensor, ip)
    loop = forall(math.prod(sizes) // copy.lanes, None, [into], ip)
    for name, value in _names(nest).items():
        loop.op.attributes[name] = value
    with loop.ip:
        at = delinearized(loop.number, [*sizes[:-1], sizes[-1] // copy.lanes])
        start = [*at[:-1], as_value(multiply(at[-1], copy.lanes))]
        part = extract_slice(loop.shared[0], start, [1] * (len(sizes) - 1) + [copy.lanes])
        first = [index_constant(0)] * len(sizes)
        row = vector.transfer_write(part.type, copy.vector(at), part, first, *_last(len(sizes)))
    loop.write(row, loop.shared[0], start)
    return loop.op.results[0]


@dataclass(frozen=True)
class _Source:
    """What is read.

    Attributes:
        tensor: the operand, or the tensor that it contains in a border.
        row: its index for each dimension; outside of it in a border.
        border: the value of the border's elements; None without a border.
    """

    tensor: Value
    row: tuple[Index, ...]
    border: Value | None

    @staticmethod
    def of(operand: Value, row: tuple[Index, ...]) -> _Source:
        producer = owner(operand)
        padding = None if producer is None else padding_of(producer)
        if padding is None:
            return _Source(operand, row, None)
        moved = tuple(
            Index(index.factors, index.offset - offset)
            for index, offset in zip(row, padding.offsets, strict=True)
        )
        return _Source(padding.inside, moved, padding.fill.operands[0])

    @property
    def element(self) -> Type:
        return self.tensor.type.element_type


@dataclass(frozen=True)
class _Copy:
    """The division of a copy among threads, each of which writes a vector of the last group.

    Attributes:
        nest: the contraction.
        groups: the loops of each dimension of the matrix.
        sizes: the sizes of the matrix, at least the extents of the groups.
        source: what is read.
    """

    nest: Structured
    groups: Sequence[Group]
    sizes: tuple[int, ...]
    source: _Source

    @cached_property
    def lanes(self) -> int:
        """Elements that a thread copies: contiguous, and all inside or all outside."""
        loop, last = self.groups[-1].loops[-1], self.source.row[-1]
        others = self.source.row[:-1]
        if last.factors != ((loop, 1),) or any(index.factor(loop) for index in others):
            return 1
        widest = 8 * ACCESS_BYTES // element_bits(self.source.tensor)
        extents = self.nest.extents[loop], shape_of(self.source.tensor)[-1]
        return math.gcd(widest, *extents, last.offset, self.sizes[-1])

    def vector(self, at: Sequence[Value]) -> Value:
        """The vector at a position, which counts vectors along the last group.

        For a position outside, another vector is read and replaced, without a branch.
        """
        index = self._index(at)
        image, matrix = self._in_image(index), self._in_matrix(at)
        for dim, inside in image.items():
            index[dim] = arith.select(inside, index[dim], index_constant(0))
        found = self._read(index)
        for inside in image.values():
            found = arith.select(inside, found, self._splat(self.source.border))
        for inside in matrix:
            found = arith.select(inside, found, self._splat(None))
        return found

    def _index(self, at: Sequence[Value]) -> list[Value]:
        """The index of the first element in the source."""
        loops: dict[int, Number] = {}
        for group, position in zip(self.groups, at, strict=True):
            loops |= self._loops(group, position)
        sums = [
            linear_offset([(loops[loop], factor) for loop, factor in row.factors])
            for row in self.source.row
        ]
        offsets = [row.offset for row in self.source.row]
        return [as_value(add(each, by)) for each, by in zip(sums, offsets, strict=True)]

    def _loops(self, group: Group, position: Value) -> dict[int, Number]:
        """The iteration of each loop of a group at a position."""
        lanes = self.lanes if group is self.groups[-1] else 1
        extents = [self.nest.extents[loop] for loop in group.loops]
        extents[-1] //= lanes
        found: list[Number] = list(delinearized(position, extents))
        found[-1] = multiply(found[-1], lanes)
        return dict(zip(group.loops, found, strict=True))

    def _in_image(self, index: Sequence[Value]) -> dict[int, Value]:
        """The conditions for an index inside the source, by dimension, where windows leave it.

        Beyond the extents of a group, they may leave it in any dimension of its loops.
        """
        shape = shape_of(self.source.tensor)
        return {
            dim: compare("ult", index[dim], size)  # a negative index is a large number
            for dim, (row, size) in enumerate(zip(self.source.row, shape, strict=True))
            if row.offset < 0 or row.reach(self._reached) > size
        }

    @property
    def _reached(self) -> list[int]:
        """The iterations of each loop that positions in the matrix reach."""
        reached = list(self.nest.extents)
        for group, size in zip(self.groups, self.sizes, strict=True):
            first, *others = group.loops
            reached[first] = -(-size // math.prod(self.nest.extents[loop] for loop in others))
        return reached

    def _in_matrix(self, at: Sequence[Value]) -> list[Value]:
        """The conditions for a position that loops reach."""
        lanes = [1] * (len(self.groups) - 1) + [self.lanes]
        return [
            compare("ult", position, group.extent(self.nest) // step)
            for group, position, size, step in zip(self.groups, at, self.sizes, lanes, strict=True)
            if size > group.extent(self.nest)
        ]

    def _read(self, index: Sequence[Value]) -> Value:
        along, bounds = _last(len(index))
        rest = ub.poison(self.source.element)
        return vector.transfer_read(self._type, self.source.tensor, index, along, rest, bounds)

    def _splat(self, value: Value | None) -> Value:
        """A vector of equal elements, by default zeros."""
        return zeros(self._type) if value is None else vector.broadcast(self._type, value)

    @property
    def _type(self) -> VectorType:
        return VectorType.get([self.lanes], self.source.element)


def _last(rank: int) -> tuple[AffineMapAttr, ArrayAttr]:
    """The map, and the bounds that hold, of a vector along the last dimension."""
    last = AffineMap.get(rank, 0, [AffineDimExpr.get(rank - 1)])
    return AffineMapAttr.get(last), ArrayAttr.get([BoolAttr.get(True)])


def _names(nest: Structured) -> Mapping[str, Attribute]:
    found: dict[str, Attribute] = {}
    if (name := node_id(nest.op)) is not None:
        found[node_id_attribute(f"{name}.patches")] = UnitAttr.get()
    if nest.device is not None:
        found[DEVICE] = nest.op.attributes[DEVICE]
    return found

# SPDX-License-Identifier: Apache-2.0
"""Vectors split into pieces that fit registers, and operations on these pieces."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from xtc.ir.builders.affine import shifted
from xtc.ir.mlir import (
    AffineDimExpr,
    AffineMap,
    FloatType,
    IntegerType,
    MemRefType,
    Type,
    Value,
    VectorType,
    arith,
    memref,
    vector,
)

Pieces = list[Value]
"""The pieces of a vector in row-major order: vectors of rank 1, or scalars for single elements."""


@dataclass(frozen=True)
class Cut:
    """A piece of a vector.

    Attributes:
        outer: its indices in the outer dimensions.
        start: its first element in the last dimension.
        lanes: its number of lanes.
        used: the number of lanes that are elements of the vector; the others are masked.
    """

    outer: tuple[int, ...]
    start: int
    lanes: int
    used: int

    @property
    def is_masked(self) -> bool:
        """Whether some lanes are padding."""
        return self.used < self.lanes


@lru_cache(maxsize=1024)
def cuts(shape: tuple[int, ...], lanes: int, *, masks: bool = False) -> tuple[Cut, ...]:
    """The pieces of a vector in row-major order, with a power of two of at most `lanes` lanes.

    With `masks`, a remainder that needs several pieces becomes one piece with masked lanes.
    """
    if not shape:
        return (Cut((), 0, 1, 1),)
    outer = itertools.product(*(range(size) for size in shape[:-1]))
    parts = list(_parts(shape[-1], lanes, masks))
    return tuple(Cut(offset, *part) for offset in outer for part in parts)


def _parts(size: int, lanes: int, masks: bool) -> Iterator[tuple[int, int, int]]:
    """The first lane, the lanes and the elements of each piece."""
    start = 0
    while start < size:
        left = min(lanes, size - start)
        shorter = 1 << left.bit_length() - 1
        if masks and left > shorter:
            yield start, 2 * shorter, left
        else:
            yield start, shorter, shorter
        start += left if masks else shorter


def piece_type(element: Type, lanes: int) -> Type:
    """The type of a piece."""
    return element if lanes == 1 else VectorType.get([lanes], element)


def element_bits(element: Type) -> int:
    """The width of an element in bits; 0 for i1, which has the width of the compared operands."""
    text = str(element)
    if text == "index":
        return 64
    width = int("".join(filter(str.isdigit, text)))
    return 0 if width == 1 else width


def broadcast(value: Value, lanes: int) -> Value:
    """A splat of a scalar."""
    if lanes == 1:
        return value
    return vector.broadcast(piece_type(value.type, lanes), value)


@dataclass(frozen=True)
class Access:
    """The location of a transfer's elements in memory.

    Attributes:
        memref: the buffer.
        indices: the indices of the first element.
        dims: for each dimension of the vector, the buffer's dimension; None for a broadcast.
    """

    memref: Value
    indices: tuple[Value, ...]
    dims: tuple[int | None, ...]

    @staticmethod
    def of(buffer: Value, indices: Sequence[Value], index_map: AffineMap) -> Access:
        """The access of a transfer with this permutation map."""
        dims = tuple(
            expression.position if isinstance(expression, AffineDimExpr) else None
            for expression in index_map.results
        )
        return Access(buffer, tuple(indices), dims)

    @cached_property
    def element(self) -> Type:
        """The type of the buffer's elements."""
        return MemRefType(self.memref.type).element_type

    @cached_property
    def is_contiguous(self) -> bool:
        """Whether the vector's last dimension is contiguous in memory."""
        type = MemRefType(self.memref.type)
        dim = self.dims[-1] if self.dims else None
        if dim is None:
            return False
        strides, _ = type.get_strides_and_offset()
        return strides[dim] == 1 and all(size == 1 for size in type.shape[dim + 1 :])

    @property
    def is_uniform(self) -> bool:
        """Whether the vector's last dimension is a broadcast of one element."""
        return not self.dims or self.dims[-1] is None

    def at(self, cut: Cut, lane: int) -> list[Value]:
        """The indices of one lane of a piece."""
        offset = (*cut.outer, cut.start + lane)[: len(self.dims)]
        indices = list(self.indices)
        for distance, dim in zip(offset, self.dims, strict=True):
            if dim is not None:
                indices[dim] = shifted(indices[dim], distance)
        return indices


def read(access: Access, cut: Cut) -> Value:
    """Load a piece from memory."""
    element = access.element
    if cut.lanes == 1 or access.is_uniform:
        return broadcast(_load(access, cut, 0), cut.lanes)
    type = piece_type(element, cut.lanes)
    zeros = [_zero(element)] if cut.is_masked else []
    if access.is_contiguous and zeros:
        masked = broadcast(zeros[0], cut.lanes)
        return vector.maskedload(type, access.memref, access.at(cut, 0), _mask(cut), masked)
    if access.is_contiguous:
        return vector.load(type, access.memref, access.at(cut, 0))
    lanes = [_load(access, cut, lane) for lane in range(cut.used)]
    return vector.from_elements(type, lanes + zeros * (cut.lanes - cut.used))


def _load(access: Access, cut: Cut, lane: int) -> Value:
    return memref.load(access.memref, access.at(cut, lane))


def _zero(element: Type) -> Value:
    """A scalar 0."""
    return arith.constant(element, 0.0 if isinstance(element, FloatType) else 0)


def _mask(cut: Cut) -> Value:
    """The mask of the lanes of a piece that are elements of the vector."""
    return vector.constant_mask(
        VectorType.get([cut.lanes], IntegerType.get_signless(1)), [cut.used]
    )


def write(piece: Value, access: Access, cut: Cut) -> None:
    """Store a piece to memory."""
    if cut.is_masked and access.is_contiguous:
        vector.maskedstore(access.memref, access.at(cut, 0), _mask(cut), piece)
        return
    if cut.lanes > 1 and access.is_contiguous:
        vector.store(piece, access.memref, access.at(cut, 0))
        return
    for lane in range(cut.used):
        memref.store(lane_of(piece, cut, lane), access.memref, access.at(cut, lane))


def lane_of(piece: Value, cut: Cut, lane: int) -> Value:
    """A lane of a piece."""
    if cut.lanes == 1:
        return piece
    return vector.extract(piece, [], [lane])

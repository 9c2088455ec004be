# SPDX-License-Identifier: Apache-2.0
"""Reads single elements of a constant from its packed tiles, if these cover all of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xtc.ir.analysis.linalg_ops import owner
from xtc.ir.analysis.structured import shape_of
from xtc.ir.builders import numbers
from xtc.ir.builders.slices import tensor_type
from xtc.ir.mlir import (
    InsertionPoint,
    MemRefType,
    Operation,
    Value,
    arith,
    bufferization,
    memref,
    tensor,
)
from xtc_targets.host.passes._constant_tiles import Tiles

_FEW = 8  # least table elements per read element: packed addresses cost more


@dataclass(frozen=True)
class Packed:
    """A packed constant: its symbol, the tiles in the original constant, and its type."""

    symbol: str
    tiles: Tiles
    type: MemRefType


@dataclass(frozen=True)
class _Digit:
    """A dimension of packed tiles: the digit `index // unit % size` of an index of the constant."""

    unit: int
    size: int


@dataclass(frozen=True)
class _Box:
    """The part of a constant that packed tiles cover.

    Attributes:
        packed: the tiles.
        starts, sizes: offsets and sizes of the part, by dimension of the constant.
        digits: the dimensions of the tiles, each with its dimension of the constant.
    """

    packed: Packed
    starts: tuple[int, ...]
    sizes: tuple[int, ...]
    digits: tuple[tuple[int, _Digit], ...]


def read_packed(reads: Sequence[Operation], packed: Sequence[Packed]) -> bool:
    """Let `tensor.extract`s of a constant read its tiles; False if the tiles do not cover it.

    `reads` are all readers of the original layout; otherwise the constant is stored twice.
    """
    source = reads[0].operands[0]
    boxes = [box for tiles in packed if (box := _box(tiles, source)) is not None]
    found = _partition(boxes, shape_of(source))
    if found is None or sum(map(_times, reads)) * _FEW > math.prod(shape_of(source)):
        return False
    dimension, parts = found
    for read in reads:
        with read.location:
            value = _element(read, dimension, parts)
        read.results[0].replace_all_uses_with(value)
        read.erase()
    return True


def _times(read: Operation) -> int:
    """The number of executions of an operation in the body of a linalg operation."""
    around = read.parent
    return math.prod(shape_of(around.operands[len(around.operands) - 1]))


def _box(packed: Packed, source: Value) -> _Box | None:
    tiles = packed.tiles
    shape = shape_of(source)
    units = [math.prod(shape[d + 1 :]) for d in range(len(shape))]
    strides = [(window.count, window.step * window.stride) for window in tiles.windows]
    digits: list[tuple[int, _Digit]] = []
    for size, stride in (*strides, *zip(tiles.shape, tiles.strides, strict=True)):
        d = next(d for d, unit in enumerate(units) if stride >= unit)
        if stride % units[d]:
            return None
        digits.append((d, _Digit(stride // units[d], size)))
    sizes = []
    for d in range(len(shape)):
        own = sorted((digit for of, digit in digits if of == d), key=lambda digit: digit.unit)
        size = 1
        for digit in own:
            if digit.unit != size:
                return None
            size *= digit.size
        sizes.append(size)
    starts = [tiles.start // unit % extent for unit, extent in zip(units, shape, strict=True)]
    return _Box(packed, tuple(starts), tuple(sizes), tuple(digits))


def _partition(boxes: list[_Box], shape: Sequence[int]) -> tuple[int, list[_Box]] | None:
    """Boxes that partition a constant along one dimension, and this dimension."""
    for d in range(len(shape)):
        others = [e for e in range(len(shape)) if e != d]
        wide = [box for box in boxes if all(box.sizes[e] == shape[e] for e in others)]
        parts, end = [], 0
        while end < shape[d]:
            part = next((box for box in wide if box.starts[d] == end), None)
            if part is None:
                break
            parts.append(part)
            end += part.sizes[d]
        else:
            return d, parts
    return None


def _element(read: Operation, dimension: int, parts: list[_Box]) -> Value:
    """The element that `read` reads, selected from the nearest element of each part."""
    ip, indices = InsertionPoint(read), list(read.operands)[1:]
    value: Value | None = None
    for part in parts:
        here = _read(part, dimension, indices, read, ip)
        if value is not None:
            start = part.starts[dimension]
            is_here = numbers.compare("sge", indices[dimension], start, ip)
            here = arith.select(is_here, here, value, ip=ip)
        value = here
    assert value is not None  # noqa: S101  a constant has one part or more
    return value


def _read(
    part: _Box, dimension: int, indices: Sequence[Value], read: Operation, ip: InsertionPoint
) -> Value:
    local: list[numbers.Number] = list(indices)
    inside = numbers.subtract(local[dimension], part.starts[dimension], ip)
    above = numbers.maximum(inside, 0, ip)
    local[dimension] = numbers.minimum(above, part.sizes[dimension] - 1, ip)
    positions = [
        numbers.as_value(
            numbers.remainder(numbers.divide(local[d], digit.unit, ip), digit.size, ip), ip
        )
        for d, digit in part.digits
    ]
    return tensor.extract(_loaded(part, read), positions, ip=ip)


def _loaded(part: _Box, read: Operation) -> Value:
    """The packed constant as a tensor, defined next to the original."""
    loaded = owner(read.operands[0])
    assert loaded is not None  # noqa: S101  constants are loaded
    ip, type = InsertionPoint(loaded), part.packed.type
    buffer = memref.get_global(type, part.packed.symbol, ip=ip)
    return bufferization.to_tensor(
        tensor_type(type.shape, read.operands[0]), buffer, restrict=True, ip=ip
    )

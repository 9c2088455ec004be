# SPDX-License-Identifier: Apache-2.0
"""Buffers in a cluster's SMEM, and the copies that fill them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xtc.ir.builders.numbers import linear_offset
from xtc.ir.builders.slices import Offset, extract_slice, insert_slice, tensor_type
from xtc.ir.mlir import (
    InsertionPoint,
    IntegerAttr,
    IntegerType,
    Value,
    bufferization,
)
from xtc_passes.tensor._tile import Member
from xtc_targets.mppa.passes._part_costs import Cut, part_sizes

SMEM = 2
"""The memory space of SMEM."""


@dataclass(frozen=True)
class Tile:
    """One tile of the tiled dimensions: its offsets, and its sizes inside the tensor."""

    offsets: tuple[Offset, ...]
    valid: tuple[Offset, ...]


def allocate(shape: Sequence[int], like: Value, ip: InsertionPoint) -> Value:
    """A tensor in SMEM without contents."""
    return _allocate(shape, like, None, ip)


def allocate_copy(shape: Sequence[int], like: Value, source: Value, ip: InsertionPoint) -> Value:
    """A tensor in SMEM with the contents of another one."""
    return _allocate(shape, like, source, ip)


def _allocate(shape: Sequence[int], like: Value, copied: Value | None, ip: InsertionPoint) -> Value:
    space = IntegerAttr.get(IntegerType.get_signless(64), SMEM)
    type = tensor_type(shape, like)
    return bufferization.alloc_tensor(type, [], copy=copied, memory_space=space, ip=ip)


def load(
    member: Member,
    number: int,
    sizes: Sequence[int],
    tile: Tile,
    ip: InsertionPoint,
    cut: Cut = None,
    start: Offset = 0,
) -> Value:
    """The part of an operand that a tile of `sizes` needs, copied to SMEM.

    With `cut`, only the part that the strip at `start` needs. Elements beyond the tensor are not
    copied, and results that are computed from them are never used.
    """
    value = member.nest.op.operands[number]
    padded = part_sizes(member, number, sizes, cut)
    offsets = part_offsets(member, number, tile.offsets, ip, cut, start)
    valid = _valid(member, number, padded, sizes, tile, ip)
    part = extract_slice(value, offsets, valid, ip)
    if tuple(valid) == tuple(padded):
        return _allocate(padded, value, part, ip)
    buffer = allocate(padded, value, ip)
    return insert_slice(part, buffer, [0] * len(padded), ip, valid)


def part_offsets(
    member: Member,
    number: int,
    offsets: Sequence[Offset],
    ip: InsertionPoint,
    cut: Cut = None,
    start: Offset = 0,
) -> list[Offset]:
    """The offsets of the part of an operand that these iterations of the tiled loops access."""
    starts = dict(zip(member.loops, offsets, strict=True))
    if cut is not None:
        starts[cut[1]] = start
    return [
        linear_offset([(offset, index.factor(loop)) for loop, offset in starts.items()], ip)
        for index in member.nest.indices[number]
    ]


def _valid(
    member: Member,
    number: int,
    padded: Sequence[int],
    sizes: Sequence[int],
    tile: Tile,
    ip: InsertionPoint,
) -> list[Offset]:
    """The sizes of a part inside the tensor: smaller if the tile extends past its end."""
    found: list[Offset] = []
    for index, size in zip(member.nest.indices[number], padded, strict=True):
        terms: list[tuple[Offset, int]] = [(size, 1)]
        for loop, valid, whole in zip(member.loops, tile.valid, sizes, strict=True):
            if valid != whole and index.factor(loop):
                terms += [(valid, index.factor(loop)), (-whole, index.factor(loop))]
        found.append(linear_offset(terms, ip))
    return found

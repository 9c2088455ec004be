# SPDX-License-Identifier: Apache-2.0
"""Writes the loop nest of a group: clusters share the tiles, and PEs share each tile in SMEM."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xtc.ir.analysis.structured import shape_of
from xtc.ir.builders.affine import apply, digits, minimum
from xtc.ir.builders.control import BLOCKS, for_each, forall
from xtc.ir.builders.slices import Offset, empty, extract_slice, insert_slice
from xtc.ir.mlir import (
    AffineConstantExpr,
    AffineDimExpr,
    AffineMulExpr,
    InsertionPoint,
    Value,
)
from xtc_targets.mppa.passes._fusion_groups import Group
from xtc_targets.mppa.passes._part_costs import Machine
from xtc_targets.mppa.passes._smem_tiles import Tile
from xtc_targets.mppa.passes._tile_body import TileBody
from xtc_targets.mppa.passes._tile_plan import Plan


@dataclass(frozen=True)
class TiledLoops:
    """The loop nest of a group.

    for each cluster, at the same time
      for each of its tiles
        copy the operands of the tile to SMEM; compute it on all PEs; copy the result to DDR
    """

    group: Group
    plan: Plan
    machine: Machine

    def write(self) -> None:
        """Replace the root, or the insertion that reads its result, by the loop nest."""
        group = self.group
        position = group.window or group.root.op
        ip = InsertionPoint(position)
        with position.location:
            into, base = self._destination(ip)
            count = math.prod(self.plan.counts(group.extents))
            clusters = forall(min(count, self.machine.clusters), BLOCKS, [into], ip)
            result = self._tiles(clusters.number, clusters.shared[0], count, base, clusters.ip)
            clusters.write_all([result])
        position.results[0].replace_all_uses_with(clusters.op.results[0])

    def _destination(self, ip: InsertionPoint) -> tuple[Value, list[int]]:
        """The tensor that is written, and the offsets of the result in it."""
        root, window = self.group.root, self.group.window
        if window is None:
            return empty(shape_of(root.result), root.result, ip), [0] * len(root.out)
        return window.operands[1], list(window.attributes["static_offsets"])

    def _tiles(
        self, number: Value, into: Value, count: int, base: Sequence[int], ip: InsertionPoint
    ) -> Value:
        """One tile, or every n-th of them."""
        body = TileBody(self.group, self.plan, ip)
        if count <= self.machine.clusters:
            return self._tile(body, number, into, base, ip)
        body.load_invariants()

        def write_tile(index: Value, carried: list[Value], inside: InsertionPoint) -> list[Value]:
            return [self._tile(body, index, carried[0], base, inside)]

        return for_each(number, count, self.machine.clusters, [into], write_tile, ip)[0]

    def _tile(
        self, body: TileBody, number: Value, into: Value, base: Sequence[int], ip: InsertionPoint
    ) -> Value:
        """Compute one tile and insert it into the result."""
        counts = self.plan.counts(self.group.extents)
        positions = digits(number, counts, ip)
        bounds_of = _clamped if self.group.is_copy else _bounds
        bounds = [
            bounds_of(position, tile, extent, ip)
            for position, tile, extent in zip(
                positions, self.plan.tiles, self.group.extents, strict=True
            )
        ]
        tile = Tile(tuple(first for first, _ in bounds), tuple(size for _, size in bounds))
        local = body.write(tile, ip)
        rest = shape_of(self.group.root.result)[len(bounds) :]
        sizes = [*tile.valid, *rest]
        valid = extract_slice(local, [0] * len(sizes), sizes, ip)
        starts = [*tile.offsets, *([0] * len(rest))]
        offsets = [_plus(start, first, ip) for start, first in zip(starts, base, strict=True)]
        return insert_slice(valid, into, offsets, ip, sizes)


def _bounds(position: Offset, tile: int, extent: int, ip: InsertionPoint) -> tuple[Offset, Offset]:
    """Offset and size inside the tensor of a tile in one dimension."""
    if isinstance(position, int):
        return position * tile, min(tile, extent - position * tile)
    dimension = AffineDimExpr.get(0)
    offset: Offset = position
    if tile > 1:
        offset = apply(AffineMulExpr.get(dimension, AffineConstantExpr.get(tile)), position, ip)
    if extent % tile == 0:
        return offset, tile
    left = dimension * AffineConstantExpr.get(-tile) + AffineConstantExpr.get(extent)
    return offset, minimum([AffineConstantExpr.get(tile), left], position, ip)


def _clamped(position: Offset, tile: int, extent: int, ip: InsertionPoint) -> tuple[Offset, Offset]:
    """The same, but the last tile starts early enough to be whole and overlaps the previous one."""
    if isinstance(position, int) or extent % tile == 0:
        return _bounds(position, tile, extent, ip)
    start = AffineDimExpr.get(0) * AffineConstantExpr.get(tile)
    return minimum([start, AffineConstantExpr.get(extent - tile)], position, ip), tile


def _plus(offset: Offset, number: int, ip: InsertionPoint) -> Offset:
    if isinstance(offset, int) or number == 0:
        return offset + number if isinstance(offset, int) else offset
    return apply(AffineDimExpr.get(0) + AffineConstantExpr.get(number), offset, ip)

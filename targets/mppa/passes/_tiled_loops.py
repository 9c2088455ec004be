# SPDX-License-Identifier: Apache-2.0
"""Writes the nest of one group: clusters share the tiles, and PEs share each tile in SMEM."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xtc.ir.analysis.structured import shape_of
from xtc.ir.builders.affine import apply, digits, minimum
from xtc.ir.builders.control import BLOCKS, forall
from xtc.ir.builders.numbers import index_constant
from xtc.ir.builders.tensors import Offset, empty, extract_slice, insert_slice
from xtc.ir.mlir import (
    AffineConstantExpr,
    AffineDimExpr,
    AffineMulExpr,
    IndexType,
    InsertionPoint,
    Operation,
    Value,
)
from xtc_targets.mppa.passes._fusion_groups import Group
from xtc_targets.mppa.passes._part_costs import Machine
from xtc_targets.mppa.passes._smem_tiles import Tile
from xtc_targets.mppa.passes._tile_body import TileBody
from xtc_targets.mppa.passes._tile_plan import Plan


@dataclass(frozen=True)
class TileNest:
    """The nest of a group.

    for each cluster, at the same time
      for each of its tiles
        copies of what the tile needs, in SMEM; the tile, by all PEs; a copy of the result to DDR
    """

    group: Group
    plan: Plan
    machine: Machine

    def write(self) -> None:
        """Put the nest where the root stands, or the insertion that reads its result."""
        group = self.group
        place = group.window or group.root.op
        ip = InsertionPoint(place)
        with place.location:
            into, base = self._destination(ip)
            count = math.prod(self.plan.counts(group.extents))
            clusters = forall(min(count, self.machine.clusters), BLOCKS, [into], ip)
            result = self._tiles(clusters.number, clusters.shared[0], count, base, clusters.ip)
            clusters.write_all([result])
        place.results[0].replace_all_uses_with(clusters.op.results[0])

    def _destination(self, ip: InsertionPoint) -> tuple[Value, list[int]]:
        """The tensor that is written, and where in it the result begins."""
        root, window = self.group.root, self.group.window
        if window is None:
            return empty(shape_of(root.result), root.result, ip), [0] * len(root.out)
        return window.operands[1], list(window.attributes["static_offsets"])

    def _tiles(
        self, number: Value, into: Value, count: int, base: Sequence[int], ip: InsertionPoint
    ) -> Value:
        """One tile, or every so many of them in turn."""
        body = TileBody(self.group, self.plan, ip)
        if count <= self.machine.clusters:
            return self._tile(body, number, into, base, ip)
        body.load_invariants()
        bounds = [index_constant(one, ip) for one in (count, self.machine.clusters)]
        loop = Operation.create("scf.for", [into.type], [number, *bounds, into], regions=1, ip=ip)
        block = loop.regions[0].blocks.append(IndexType.get(), into.type)
        inside = InsertionPoint(block)
        result = self._tile(body, block.arguments[0], block.arguments[1], base, inside)
        Operation.create("scf.yield", operands=[result], ip=inside)
        return loop.results[0]

    def _tile(
        self, body: TileBody, number: Value, into: Value, base: Sequence[int], ip: InsertionPoint
    ) -> Value:
        """Compute one tile and put it into the result."""
        counts = self.plan.counts(self.group.extents)
        places = digits(number, counts, ip)
        bounds_of = _clamped if self.group.is_copy else _bounds
        bounds = [
            bounds_of(place, tile, extent, ip)
            for place, tile, extent in zip(places, self.plan.tiles, self.group.extents, strict=True)
        ]
        tile = Tile(tuple(first for first, _ in bounds), tuple(size for _, size in bounds))
        local = body.write(tile, ip)
        rest = shape_of(self.group.root.result)[len(bounds) :]
        sizes = [*tile.valid, *rest]
        valid = extract_slice(local, [0] * len(sizes), sizes, ip)
        starts = [*tile.offsets, *([0] * len(rest))]
        offsets = [_plus(start, first, ip) for start, first in zip(starts, base, strict=True)]
        return insert_slice(valid, into, offsets, ip, sizes)


def _bounds(place: Offset, tile: int, extent: int, ip: InsertionPoint) -> tuple[Offset, Offset]:
    """Where a tile begins in one dimension, and how much of it there is."""
    if isinstance(place, int):
        return place * tile, min(tile, extent - place * tile)
    dimension = AffineDimExpr.get(0)
    offset: Offset = place
    if tile > 1:
        offset = apply(AffineMulExpr.get(dimension, AffineConstantExpr.get(tile)), place, ip)
    if extent % tile == 0:
        return offset, tile
    left = dimension * AffineConstantExpr.get(-tile) + AffineConstantExpr.get(extent)
    return offset, minimum([AffineConstantExpr.get(tile), left], place, ip)


def _clamped(place: Offset, tile: int, extent: int, ip: InsertionPoint) -> tuple[Offset, Offset]:
    """The same where the last tile begins early enough to be whole, doing some of it again."""
    if isinstance(place, int) or extent % tile == 0:
        return _bounds(place, tile, extent, ip)
    start = AffineDimExpr.get(0) * AffineConstantExpr.get(tile)
    return minimum([start, AffineConstantExpr.get(extent - tile)], place, ip), tile


def _plus(offset: Offset, number: int, ip: InsertionPoint) -> Offset:
    if isinstance(offset, int) or number == 0:
        return offset + number if isinstance(offset, int) else offset
    return apply(AffineDimExpr.get(0) + AffineConstantExpr.get(number), offset, ip)

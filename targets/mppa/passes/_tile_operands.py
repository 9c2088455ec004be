# SPDX-License-Identifier: Apache-2.0
"""The contents of a cluster's SMEM while it computes a tile."""

from __future__ import annotations

from dataclasses import dataclass, field

from xtc.ir.mlir import InsertionPoint, Value
from xtc_passes.tensor._tile import Member
from xtc_targets.mppa.passes._fusion_groups import Group
from xtc_targets.mppa.passes._part_costs import part_sizes
from xtc_targets.mppa.passes._smem_tiles import Tile, allocate, load
from xtc_targets.mppa.passes._tile_plan import Plan

Key = tuple[Value, tuple[object, ...]]


@dataclass
class TileOperands:
    """The parts of operands that one tile needs, and the results computed so far.

    Attributes:
        group: the operations.
        plan: their tiling.
        tile: the tile.
        ip: the insertion point of copies to SMEM.
        copied: the parts of operands that are already in SMEM.
        values: the members' results on the tile, by their results on whole tensors.
    """

    group: Group
    plan: Plan
    tile: Tile
    ip: InsertionPoint
    copied: dict[Key, Value]
    values: dict[Value, Value] = field(default_factory=dict)

    def part(self, member: Member, number: int) -> Value:
        """The part of an operand from outside, copied once for all members that read it."""
        key = self._key(member, number)
        if key not in self.copied:
            self.copied[key] = self._copy(member, number)
        return self.copied[key]

    def _copy(self, member: Member, number: int) -> Value:
        if self.group.is_read(member, number):
            return load(member, number, self.plan.tiles, self.tile, self.ip)
        sizes = part_sizes(member, number, self.plan.tiles)
        return allocate(sizes, member.nest.op.operands[number], self.ip)

    def _key(self, member: Member, number: int) -> Key:
        """The key of an operand's part, equal for members that read the same part."""
        positions = tuple(
            tuple(index.factor(loop) for loop in member.loops)
            for index in member.nest.indices[number]
        )
        sizes = tuple(part_sizes(member, number, self.plan.tiles))
        return member.nest.op.operands[number], (positions, sizes)

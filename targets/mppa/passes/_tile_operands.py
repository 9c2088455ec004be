# SPDX-License-Identifier: Apache-2.0
"""What a cluster has in its SMEM while it computes a tile."""

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
    """The parts of tensors that one tile needs, and what was computed of it.

    Attributes:
        group: what is computed.
        plan: how.
        tile: the tile.
        ip: where copies to SMEM are made.
        copied: parts of operands that are there already.
        values: the members' results, by those on all of the tensor.
    """

    group: Group
    plan: Plan
    tile: Tile
    ip: InsertionPoint
    copied: dict[Key, Value]
    values: dict[Value, Value] = field(default_factory=dict)

    def part(self, member: Member, number: int) -> Value:
        """The part of an operand from outside, copied once for all members that read the same."""
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
        """Members that read the same part of a tensor have the same key."""
        positions = tuple(
            tuple(index.factor(loop) for loop in member.loops)
            for index in member.nest.indices[number]
        )
        sizes = tuple(part_sizes(member, number, self.plan.tiles))
        return member.nest.op.operands[number], (positions, sizes)

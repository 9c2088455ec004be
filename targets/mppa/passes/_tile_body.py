# SPDX-License-Identifier: Apache-2.0
"""Computes one tile of a group in SMEM, member by member; PEs share each member."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from xtc.ir.builders.control import for_each
from xtc.ir.builders.slices import Offset
from xtc.ir.mlir import InsertionPoint, Value
from xtc_passes.tensor._tile import Member
from xtc_targets.mppa.passes._fusion_groups import Group
from xtc_targets.mppa.passes._pe_loop import PeLoop
from xtc_targets.mppa.passes._smem_tiles import Tile, load
from xtc_targets.mppa.passes._tile_operands import Key, TileOperands
from xtc_targets.mppa.passes._tile_plan import Plan, Strip


@dataclass
class TileBody:
    """Writes the code of tiles into the body of a cluster's loop.

    Attributes:
        group: the operations.
        plan: their tiling.
        ip: the point before the loop over tiles, for operands that all tiles share.
    """

    group: Group
    plan: Plan
    ip: InsertionPoint
    _invariant: dict[Key, Value] = field(default_factory=dict)

    def load_invariants(self) -> None:
        """Copy the operands that every tile reads in whole."""
        nowhere = Tile((0,) * len(self.plan.tiles), self.plan.tiles)
        parts = TileOperands(self.group, self.plan, nowhere, self.ip, self._invariant)
        for position, member in enumerate(self.group.members):
            for number in range(member.nest.destination):
                if self._is_invariant(position, number):
                    parts.part(member, number)

    def _is_invariant(self, position: int, number: int) -> bool:
        """Whether an operand is read, and neither tiled nor cut loops index it."""
        member, strip = self.group.members[position], self.plan.strip
        if not member.nest.indices[number] or not self.group.is_read(member, number):
            return False
        loops = list(member.loops)
        if strip is not None and strip.member == position:
            loops.append(strip.loop)
        return not any(member.nest.uses_loop(number, loop) for loop in loops)

    def write(self, tile: Tile, ip: InsertionPoint) -> Value:
        """Compute the tile; returns it in SMEM, whole even if it extends past the end."""
        parts = TileOperands(self.group, self.plan, tile, ip, dict(self._invariant))
        members, strip = self.group.members, self.plan.strip
        if self.group.is_copy:
            return parts.part(members[0], 0)
        if strip is None:
            _compute(parts, members)
        else:
            _compute(parts, members[: strip.member])
            _Strips(parts, members[strip.member], strip).write()
            _compute(parts, members[strip.member + 1 :])
        return parts.values[self.group.root.result]


def _compute(parts: TileOperands, members: Sequence[Member]) -> None:
    """Compute members in order; each PE computes its part of all of them."""
    if members:
        loop = PeLoop(parts, members)
        results = loop.write([loop.initial(member, parts.ip) for member in loop.leaving], parts.ip)
        parts.values.update(
            zip([member.nest.result for member in loop.leaving], results, strict=True)
        )


@dataclass
class _Strips:
    """Writes a reduction strip by strip."""

    parts: TileOperands
    member: Member
    strip: Strip

    def write(self) -> None:
        """Compute all strips; the remainder is a separate strip at the end."""
        nest, strip = self.member.nest, self.strip
        loop = PeLoop(self.parts, (self.member,))
        total = loop.initial(self.member, self.parts.ip)
        for number, row in enumerate(nest.indices[: nest.destination]):
            if row and not nest.uses_loop(number, strip.loop):
                self.parts.part(self.member, number)
        extent = nest.extents[strip.loop]
        even = extent - extent % strip.size
        if even > strip.size:
            total = self._loop(loop, even, total)
        else:
            total = self._add(loop, strip, 0, total, self.parts.ip)
        if extent > even:
            rest = replace(strip, size=extent - even)
            total = self._add(loop, rest, even, total, self.parts.ip)
        self.parts.values[nest.result] = total

    def _loop(self, loop: PeLoop, end: int, total: Value) -> Value:
        def add_strip(start: Value, carried: list[Value], inside: InsertionPoint) -> list[Value]:
            return [self._add(loop, self.strip, start, carried[0], inside)]

        return for_each(0, end, self.strip.size, [total], add_strip, self.parts.ip)[0]

    def _add(
        self, loop: PeLoop, strip: Strip, start: Offset, total: Value, ip: InsertionPoint
    ) -> Value:
        """Accumulate one strip."""
        cut = (strip.member, strip.loop, strip.size)
        nest = self.member.nest
        found = {
            number: load(
                self.member, number, self.parts.plan.tiles, self.parts.tile, ip, cut, start
            )
            for number in range(nest.destination)
            if nest.uses_loop(number, strip.loop) and self.parts.group.is_read(self.member, number)
        }
        return loop.write([total], ip, cut, found)[0]

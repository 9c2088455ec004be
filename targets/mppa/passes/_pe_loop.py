# SPDX-License-Identifier: Apache-2.0
"""Writes the loops in which the PEs of a cluster compute parts of a tile in SMEM."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from xtc.ir.builders.affine import digits
from xtc.ir.builders.control import THREADS, Forall, forall
from xtc.ir.builders.numbers import linear_offset
from xtc.ir.builders.slices import Offset, extract_slice
from xtc.ir.mlir import InsertionPoint, Value
from xtc_passes.tensor._tile import Member
from xtc_targets.mppa.passes._part_costs import Cut, part_sizes
from xtc_targets.mppa.passes._smem_tiles import allocate, allocate_copy, load, part_offsets
from xtc_targets.mppa.passes._tile_operands import TileOperands


@dataclass
class PeLoop:
    """A run of members: each PE computes its part of all of them without synchronization.

    Attributes:
        parts: the tiles that are in SMEM before the run.
        members: the members, in order.
    """

    parts: TileOperands
    members: Sequence[Member]

    @property
    def leaving(self) -> list[Member]:
        """Members whose results are read after the run."""
        group = self.parts.group
        own = {member.nest.result for member in self.members}
        later = group.members[group.members.index(self.members[-1]) + 1 :]
        needed = {value for member in later for value in member.nest.op.operands}
        needed.add(group.root.result)
        return [member for member in self.members if member.nest.result in own & needed]

    def first(self, member: Member) -> Member:
        """The first member that writes to the destination of `member`."""
        producers = {member.nest.result: member for member in self.members}
        while (before := producers.get(_destination(member))) is not None:
            member = before
        return member

    def initial(self, member: Member, ip: InsertionPoint) -> Value:
        """The initial contents of the destination of `member`."""
        first = self.first(member)
        value = _destination(first)
        if value in self.parts.values:
            return self.parts.values[value]
        number = first.nest.destination
        if self.parts.group.is_read(first, number):
            return load(first, number, self.parts.plan.tiles, self.parts.tile, ip)
        return allocate(part_sizes(first, number, self.parts.plan.tiles), value, ip)

    def write(
        self,
        initial: Sequence[Value],
        ip: InsertionPoint,
        cut: Cut = None,
        found: dict[int, Value] | None = None,
    ) -> list[Value]:
        """Write the loop over PEs; returns the results of `leaving`."""
        self._prepare(found or {})
        plan = self.parts.plan
        loop = forall(math.prod(plan.parts), THREADS, initial, ip)
        positions = digits(loop.number, plan.parts, loop.ip)
        offsets = tuple(
            linear_offset([(position, chunk)], loop.ip)
            for position, chunk in zip(positions, plan.chunks, strict=True)
        )
        pe = _Pe(self, loop, offsets, cut, found or {})
        pe.write()
        return list(loop.op.results)

    def _prepare(self, found: dict[int, Value]) -> None:
        """Copy the operands of members to SMEM, before the PEs start."""
        results = self.parts.group.results
        for member in self.members:
            for number in range(member.nest.destination):
                value = member.nest.op.operands[number]
                if member.nest.indices[number] and value not in results and number not in found:
                    self.parts.part(member, number)


def _destination(member: Member) -> Value:
    return member.nest.op.operands[member.nest.destination]


@dataclass
class _Pe:
    """Writes one PE's part of a run; `chunks` are the partial results of members."""

    run: PeLoop
    loop: Forall
    offsets: tuple[Offset, ...]
    cut: Cut
    found: dict[int, Value]
    chunks: dict[Value, Value] = field(default_factory=dict)

    def write(self) -> None:
        leaving = self.run.leaving
        shared = {
            self.run.first(member).nest.result: value
            for member, value in zip(leaving, self.loop.shared, strict=True)
        }
        for member in self.run.members:
            self._member(member, shared.get(member.nest.result))
        for member, value in zip(leaving, self.loop.shared, strict=True):
            number = member.nest.destination
            offsets = part_offsets(member, number, self.offsets, self.loop.ip)
            self.loop.write(self.chunks[member.nest.result], value, offsets)

    def _member(self, member: Member, shared: Value | None) -> None:
        nest = member.nest
        into = self._into(member, shared)
        # A new destination has no contents; results of other members are read in place.
        held = shared is not None or not self._is_apart(member)
        operands = [
            into
            if number == nest.destination or (held and self._is_overwritten(member, number))
            else self._operand(member, number)
            for number in range(len(nest.indices))
        ]
        op = nest.op.clone(ip=self.loop.ip)
        for number, value in enumerate(operands):
            op.operands[number] = value
        op.results[0].set_type(into.type)
        self.chunks[nest.result] = op.results[0]

    def _into(self, member: Member, shared: Value | None) -> Value:
        """The destination of a member."""
        value, number = _destination(member), member.nest.destination
        if shared is not None:
            return self._slice(member, number, shared)
        if value in self.chunks:
            return self.chunks[value]
        if self.run.parts.group.is_read(member, number):
            return self._slice(member, number, self.run.parts.part(member, number))
        sizes = part_sizes(member, number, self.run.parts.plan.chunks)
        if self._is_apart(member) and member.nest.reads_destination:
            part = self._slice(member, number, self.run.parts.values[value])
            return allocate_copy(sizes, value, part, self.loop.ip)
        return allocate(sizes, value, self.loop.ip)

    def _is_apart(self, member: Member) -> bool:
        """Whether the destination holds the result of an earlier run, which others may read."""
        value = _destination(member)
        return value not in self.chunks and value in self.run.parts.values

    def _is_overwritten(self, member: Member, number: int) -> bool:
        nest = member.nest
        return (
            nest.op.operands[number] == _destination(member)
            and nest.indices[number] == nest.indices[nest.destination]
        )

    def _operand(self, member: Member, number: int) -> Value:
        value = member.nest.op.operands[number]
        if value in self.chunks:
            return self.chunks[value]
        if value in self.run.parts.values:
            return self._slice(member, number, self.run.parts.values[value])
        if number in self.found:
            return self._slice(member, number, self.found[number])
        if not member.nest.indices[number]:
            return value
        return self._slice(member, number, self.run.parts.part(member, number))

    def _slice(self, member: Member, number: int, local: Value) -> Value:
        """This PE's part of an operand in SMEM."""
        sizes = part_sizes(member, number, self.run.parts.plan.chunks, self.cut)
        offsets = part_offsets(member, number, self.offsets, self.loop.ip)
        return extract_slice(local, offsets, sizes, self.loop.ip)

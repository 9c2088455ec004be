# SPDX-License-Identifier: Apache-2.0
"""Computes one tile of a group in SMEM, member by member, each shared by the PEs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from xtc.core.mlir import IndexType, InsertionPoint, Operation, Value
from xtc_passes._build import Offset, extract_slice, index_constant, linear_offset
from xtc_passes._parallel import PES, Forall, digits, forall
from xtc_passes._tile import Member
from xtc_targets.mppa.passes._cost import Cut, part_sizes
from xtc_targets.mppa.passes._groups import Group
from xtc_targets.mppa.passes._local import Tile, allocate, load, part_offsets
from xtc_targets.mppa.passes._plan import Plan, Strip

_Key = tuple[Value, tuple[object, ...]]


@dataclass
class TileBody:
    """Writes the code of tiles into the body of a cluster's loop.

    Attributes:
        group: what is computed.
        plan: how.
        ip: before the loop over tiles, where what all tiles need is copied once.
    """

    group: Group
    plan: Plan
    ip: InsertionPoint
    _invariant: dict[_Key, Value] = field(default_factory=dict)

    def load_invariants(self) -> None:
        """Copy what every tile needs whole."""
        nowhere = Tile((0,) * len(self.plan.tiles), self.plan.tiles)
        for position, member in enumerate(self.group.members):
            cut = self._cut(position)
            for number in range(len(member.nest.indices)):
                if self._is_invariant(member, number, cut):
                    self._load(member, number, nowhere, self._invariant, self.ip)

    def write(self, tile: Tile, ip: InsertionPoint) -> Value:
        """Compute the tile; returns it in SMEM, whole even where it sticks out."""
        writer = _Writer(self, tile, ip, dict(self._invariant))
        if self.group.is_copy:
            return writer.part(self.group.members[0], 0)
        strip = self.plan.strip
        members = self.group.members
        if strip is None:
            writer.run(members)
        else:
            writer.run(members[: strip.member])
            writer.strips(members[strip.member], strip)
            writer.run(members[strip.member + 1 :])
        return writer.values[self.group.root.result]

    def _cut(self, position: int) -> Cut:
        strip = self.plan.strip
        if strip is None or strip.member != position:
            return None
        return (strip.member, strip.loop, strip.size)

    def _is_invariant(self, member: Member, number: int, cut: Cut) -> bool:
        nest = member.nest
        if not nest.indices[number] or not self.group.is_read(member, number):
            return False
        if number == nest.destination or (cut is not None and nest.uses_loop(number, cut[1])):
            return False
        return not any(nest.uses_loop(number, loop) for loop in member.loops)

    def _load(
        self, member: Member, number: int, tile: Tile, found: dict[_Key, Value], ip: InsertionPoint
    ) -> Value:
        """A part of an operand in SMEM, copied once for all members that read the same."""
        key = self._key(member, number)
        if key not in found:
            if self.group.is_read(member, number):
                found[key] = load(member, number, self.plan.tiles, tile, ip)
            else:
                sizes = part_sizes(member, number, self.plan.tiles)
                found[key] = allocate(sizes, member.nest.op.operands[number], ip)
        return found[key]

    def _key(self, member: Member, number: int) -> _Key:
        """Members that read the same part of a tensor have the same key."""
        places = tuple(
            tuple(index.factor(loop) for loop in member.loops)
            for index in member.nest.indices[number]
        )
        sizes = tuple(part_sizes(member, number, self.plan.tiles))
        return member.nest.op.operands[number], (places, sizes)


@dataclass
class _Writer:
    """Writes one tile; `values` are the members' results in SMEM, `parts` what was copied there."""

    body: TileBody
    tile: Tile
    ip: InsertionPoint
    parts: dict[_Key, Value]
    values: dict[Value, Value] = field(default_factory=dict)

    def part(self, member: Member, number: int) -> Value:
        """The part of an operand from outside that the tile needs."""
        return self.body._load(member, number, self.tile, self.parts, self.ip)

    def run(self, members: Sequence[Member]) -> None:
        """Compute members one after the other, each PE its part of all of them."""
        if members:
            run = _Run(self, members)
            results = run.write([run.initial(one, self.ip) for one in run.leaving], self.ip)
            self.values.update(zip([one.nest.result for one in run.leaving], results, strict=True))

    def strips(self, member: Member, strip: Strip) -> None:
        """Compute a sum strip by strip."""
        nest = member.nest
        run = _Run(self, (member,))
        total = run.initial(member, self.ip)
        for number, row in enumerate(nest.indices[: nest.destination]):
            if row and not nest.uses_loop(number, strip.loop):
                self.part(member, number)
        extent, size = nest.extents[strip.loop], strip.size
        even = extent - extent % size
        if even > size:
            total = self._strip_loop(run, strip, even, total)
        else:
            total = self._strip(run, strip, 0, total, self.ip)
        if extent > even:
            rest = replace(strip, size=extent - even)
            total = self._strip(run, rest, even, total, self.ip)
        self.values[nest.result] = total

    def _strip_loop(self, run: _Run, strip: Strip, end: int, total: Value) -> Value:
        bounds = [index_constant(one, self.ip) for one in (0, end, strip.size)]
        loop = Operation.create("scf.for", [total.type], [*bounds, total], regions=1, ip=self.ip)
        block = loop.regions[0].blocks.append(IndexType.get(), total.type)
        ip = InsertionPoint(block)
        result = self._strip(run, strip, block.arguments[0], block.arguments[1], ip)
        Operation.create("scf.yield", operands=[result], ip=ip)
        return loop.results[0]

    def _strip(
        self, run: _Run, strip: Strip, start: Offset, total: Value, ip: InsertionPoint
    ) -> Value:
        cut = (strip.member, strip.loop, strip.size)
        member = run.members[0]
        tiles = self.body.plan.tiles
        found = {
            number: load(member, number, tiles, self.tile, ip, cut, start)
            for number in range(member.nest.destination)
            if member.nest.uses_loop(number, strip.loop) and self.body.group.is_read(member, number)
        }
        return run.write([total], ip, cut, found)[0]


@dataclass
class _Run:
    """Members that each PE computes its part of without waiting for others."""

    writer: _Writer
    members: Sequence[Member]

    @property
    def leaving(self) -> list[Member]:
        """Members whose results are needed afterwards."""
        group = self.writer.body.group
        own = {one.nest.result for one in self.members}
        later = group.members[group.members.index(self.members[-1]) + 1 :]
        needed = {value for one in later for value in one.nest.op.operands}
        needed.add(group.root.result)
        return [one for one in self.members if one.nest.result in own & needed]

    def first(self, member: Member) -> Member:
        """The member that is the first to write where `member` does."""
        makers = {one.nest.result: one for one in self.members}
        while (before := makers.get(_destination(member))) is not None:
            member = before
        return member

    def initial(self, member: Member, ip: InsertionPoint) -> Value:
        """What the run begins with where `member` writes its result."""
        first = self.first(member)
        value = _destination(first)
        if value in self.writer.values:
            return self.writer.values[value]
        number = first.nest.destination
        if self.writer.body.group.is_read(first, number):
            return load(first, number, self.writer.body.plan.tiles, self.writer.tile, ip)
        return allocate(part_sizes(first, number, self.writer.body.plan.tiles), value, ip)

    def write(
        self,
        initial: Sequence[Value],
        ip: InsertionPoint,
        cut: Cut = None,
        found: dict[int, Value] | None = None,
    ) -> list[Value]:
        """The loop over PEs; returns what `leaving` computed."""
        self._prepare(found or {})
        plan = self.writer.body.plan
        loop = forall(math.prod(plan.parts), PES, initial, ip)
        places = digits(loop.number, plan.parts, loop.ip)
        offsets = tuple(
            linear_offset([(place, chunk)], loop.ip)
            for place, chunk in zip(places, plan.chunks, strict=True)
        )
        pe = _Pe(self, loop, offsets, cut, found or {})
        pe.write()
        return list(loop.op.results)

    def _prepare(self, found: dict[int, Value]) -> None:
        """Copy what members read, before the PEs begin."""
        made = self.writer.body.group.made
        for member in self.members:
            for number in range(member.nest.destination):
                value = member.nest.op.operands[number]
                if member.nest.indices[number] and value not in made and number not in found:
                    self.writer.part(member, number)


def _destination(member: Member) -> Value:
    return member.nest.op.operands[member.nest.destination]


@dataclass
class _Pe:
    """One PE's part of a run; `chunks` are the results of members in it."""

    run: _Run
    loop: Forall
    offsets: tuple[Offset, ...]
    cut: Cut
    found: dict[int, Value]
    chunks: dict[Value, Value] = field(default_factory=dict)

    def write(self) -> None:
        leaving = self.run.leaving
        shared = {
            self.run.first(one).nest.result: value
            for one, value in zip(leaving, self.loop.shared, strict=True)
        }
        for member in self.run.members:
            self._member(member, shared.get(member.nest.result))
        for one, value in zip(leaving, self.loop.shared, strict=True):
            number = one.nest.destination
            offsets = part_offsets(one, number, self.offsets, self.loop.ip)
            self.loop.write(self.chunks[one.nest.result], value, offsets)

    def _member(self, member: Member, shared: Value | None) -> None:
        nest = member.nest
        into = self._into(member, shared)
        operands = [
            into
            if number == nest.destination or self._is_overwritten(member, number)
            else self._operand(member, number)
            for number in range(len(nest.indices))
        ]
        op = nest.op.clone(ip=self.loop.ip)
        for number, value in enumerate(operands):
            op.operands[number] = value
        op.results[0].set_type(into.type)
        self.chunks[nest.result] = op.results[0]

    def _into(self, member: Member, shared: Value | None) -> Value:
        """Where a member writes."""
        value, number = _destination(member), member.nest.destination
        if shared is not None:
            return self._slice(member, number, shared)
        if value in self.chunks:
            return self.chunks[value]
        if self.run.writer.body.group.is_read(member, number):
            return self._slice(member, number, self.run.writer.part(member, number))
        sizes = part_sizes(member, number, self.run.writer.body.plan.chunks)
        return allocate(sizes, value, self.loop.ip)

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
        if value in self.run.writer.values:
            return self._slice(member, number, self.run.writer.values[value])
        if number in self.found:
            return self._slice(member, number, self.found[number])
        if not member.nest.indices[number]:
            return value
        return self._slice(member, number, self.run.writer.part(member, number))

    def _slice(self, member: Member, number: int, local: Value) -> Value:
        """This PE's part of what the cluster has in SMEM."""
        sizes = part_sizes(member, number, self.run.writer.body.plan.chunks, self.cut)
        offsets = part_offsets(member, number, self.offsets, self.loop.ip)
        return extract_slice(local, offsets, sizes, self.loop.ip)

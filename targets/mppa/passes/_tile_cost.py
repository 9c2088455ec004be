# SPDX-License-Identifier: Apache-2.0
"""The cost of a tiling: bytes of a cluster's memory, and cycles as the simulator models them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from xtc.ir.analysis.structured import Structured, body_operations, element_bits, is_shaped
from xtc.ir.mlir import Type, Value
from xtc_targets.mppa.passes._fusion_groups import Group, is_contraction
from xtc_targets.mppa.passes._part_costs import Cut, Machine, Operand, Part

SMEM_ALIGNMENT = 64
"""The alignment of buffers in bytes, as bufferization sets it."""
_TYPES = {"f32": "float32", "f16": "float16", "i8": "int8"}


@dataclass(frozen=True)
class MemberWork:
    """The work of one member.

    Attributes:
        inner: iterations of its other loops.
        rate: iterations per cycle of a PE.
        extents: the extent of each of its loops.
    """

    inner: int
    rate: float
    extents: tuple[int, ...]

    def cycles(self, chunks: tuple[int, ...]) -> float:
        """Cycles of one PE's part with these sizes in the tiled dimensions."""
        return self.inner * math.prod(chunks) / self.rate


@dataclass(frozen=True)
class Workload:
    """The parameters of a group from which the costs of its tilings are computed.

    Attributes:
        machine: the machine.
        extents: sizes of the tiled dimensions.
        reads: operands whose contents come from outside of the group, each with its member.
        results: destinations that need a buffer, because they do not overwrite other results.
        written: the root's destination.
        members: the work of each member; empty if the group only moves data.
    """

    machine: Machine
    extents: tuple[int, ...]
    reads: tuple[tuple[int, Operand], ...]
    results: tuple[Operand, ...]
    written: Operand
    members: tuple[MemberWork, ...]

    @staticmethod
    def of(group: Group, machine: Machine) -> Workload:
        """The workload of a group."""
        reads = tuple(
            (position, Operand.of(member, number))
            for position, member in enumerate(group.members)
            for number, row in enumerate(member.nest.indices)
            if row and group.is_read(member, number)
        )
        destinations = [Operand.of(member, member.nest.destination) for member in group.members]
        results = group.results
        return Workload(
            machine,
            group.extents,
            reads,
            tuple(operand for operand in destinations if operand.value not in results),
            destinations[-1],
            ()
            if group.is_copy
            else tuple(_work(machine, member.nest, member.loops) for member in group.members),
        )


def _work(machine: Machine, nest: Structured, tiled: tuple[int, ...]) -> MemberWork:
    inner = math.prod(extent for loop, extent in enumerate(nest.extents) if loop not in tiled)
    return MemberWork(inner, _rate(machine, nest), nest.extents)


def _rate(machine: Machine, nest: Structured) -> float:
    """Iterations per cycle of a PE, counted as in `count-operations`."""
    description = machine.description
    if is_contraction(nest):
        element = next(v.type.element_type for v in nest.op.operands if is_shaped(v))
        return description.rate(_name(element))
    count = len(body_operations(nest.op)) - 1
    if count:
        return description.rate("other") / count
    load = description.load_bytes_per_cycle * 8 / element_bits(nest.result)
    return description.rate("other") * load


@dataclass(frozen=True)
class Cost:
    """The cost of tiles of `tiles` elements in each tiled dimension, shared by `parts` PEs."""

    work: Workload
    tiles: tuple[int, ...]
    parts: tuple[int, ...]

    @cached_property
    def rounds(self) -> int:
        """The number of tiles of the busiest cluster."""
        pairs = zip(self.work.extents, self.tiles, strict=True)
        count = math.prod([-(-extent // tile) for extent, tile in pairs])
        return -(-count // self.work.machine.clusters)

    def smem_bytes(self, cut: Cut) -> int:
        """Bytes of the buffers of a cluster; buffers with overlapped transfers count twice."""
        parts = self._parts(cut)
        return self._result_bytes + sum(
            [_aligned(part.bytes) * (2 if part.in_tile else 1) for part in parts]
        )

    @cached_property
    def _result_bytes(self) -> int:
        """Bytes of the members' results."""
        results = [self._part(operand) for operand in self.work.results]
        nbytes = sum([_aligned(part.bytes) for part in results])
        nbytes += math.prod(self.parts) * SMEM_ALIGNMENT * len(results)  # separate ones per PE
        return nbytes + (_aligned(self._written.bytes) if self.rounds > 1 else 0)

    def cycles(self, cut: Cut) -> float:
        """Modelled cycles of the busiest cluster."""
        parts = self._parts(cut)
        once = sum([part.cycles for part in parts if not part.in_tile])
        each = sum([part.cycles for part in parts if part.in_tile and not part.in_strip])
        written = self._written.cycles
        if cut is None:
            moved, computed = each + written, self._compute(None)
            tile = self.rounds * max(moved, computed) if self.rounds > 1 else moved + computed
            return once + each + tile
        steps = -(-self.work.members[cut[0]].extents[cut[1]] // cut[2])
        strip = sum([part.cycles for part in parts if part.in_strip])
        summed = self._cycles[cut[0]] / steps + self._fork
        rest = self._compute(cut[0])
        tile = each + strip + steps * max(strip, summed) + rest + written
        return once + self.rounds * tile

    @cached_property
    def _written(self) -> Part:
        """The part that is copied to DDR."""
        return self._part(self.work.written)

    def _part(self, operand: Operand, cut: Cut = None) -> Part:
        return operand.part(self.work.machine, self.tiles, cut)

    def _parts(self, cut: Cut) -> list[Part]:
        """The parts that are read from outside, each part of a tensor once."""
        if cut is None:
            return [part for _, _, part in self._whole]
        member, loop, _ = cut
        return [
            self._part(operand, cut) if position == member and loop in operand.loops else part
            for position, operand, part in self._whole
        ]

    @cached_property
    def _whole(self) -> list[tuple[int, Operand, Part]]:
        """The same without strips, each with its member and operand."""
        found: dict[tuple[Value, tuple[int, ...]], tuple[int, Operand, Part]] = {}
        for position, operand in self.work.reads:
            part = self._part(operand)
            found.setdefault((operand.value, part.sizes), (position, operand, part))
        return list(found.values())

    @property
    def _fork(self) -> float:
        description = self.work.machine.description
        return description.fork_cycles + description.pe_cycles

    def _compute(self, without: int | None) -> float:
        """Cycles of all members except `without`, including forks."""
        if not self._cycles:
            return 0
        rest = 0 if without is None else self._cycles[without]
        return sum(self._cycles) - rest + 2 * self._fork

    @cached_property
    def _cycles(self) -> list[float]:
        """Cycles of one PE's part of each member."""
        pairs = zip(self.tiles, self.parts, strict=True)
        chunks = tuple([tile // part for tile, part in pairs])
        return [member.cycles(chunks) for member in self.work.members]


def _aligned(size: int) -> int:
    return -(-size // SMEM_ALIGNMENT) * SMEM_ALIGNMENT


def _name(element: Type) -> str:
    return _TYPES.get(str(element), "other")

# SPDX-License-Identifier: Apache-2.0
"""What a tiling costs: bytes of a cluster's memory, and cycles as the simulator models them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from xtc.ir.analysis.structured import (
    Structured,
    body_operations,
    element_bits,
    is_shaped,
    shape_of,
)
from xtc.ir.mlir import Type
from xtc_passes.tensor._tile import Member
from xtc_targets.mppa.description import CoolidgeDescription
from xtc_targets.mppa.passes._fusion_groups import Group, is_contraction

Cut = tuple[int, int, int] | None
"""The number of a member, the loop of it that is cut into strips, and a strip's length."""

SMEM_ALIGNMENT = 64
"""Bytes; bufferization aligns all buffers so."""
_TYPES = {"f32": "float32", "f16": "float16", "i8": "int8"}


@dataclass(frozen=True)
class Machine:
    """What plans are made for.

    Attributes:
        description: the version of the machine.
        clusters: clusters that run a kernel.
        pes: processing elements of each.
        smem_bytes: what a nest may use of a cluster's memory.
    """

    description: CoolidgeDescription
    clusters: int
    pes: int
    smem_bytes: int


def part_sizes(member: Member, number: int, sizes: Sequence[int], cut: Cut = None) -> list[int]:
    """The sizes of the part of an operand that belongs to so many iterations of the tiled loops."""
    nest = member.nest
    extents = list(nest.extents)
    changed = list(member.loops)
    for loop, size in zip(member.loops, sizes, strict=True):
        extents[loop] = size
    if cut is not None:
        extents[cut[1]] = cut[2]
        changed.append(cut[1])
    shape = shape_of(nest.op.operands[number])
    return [
        index.reach(extents) if any(index.factor(loop) for loop in changed) else size
        for index, size in zip(nest.indices[number], shape, strict=True)
    ]


@dataclass(frozen=True)
class _Part:
    """The part of an operand that one tile, or one strip, needs."""

    bytes: int
    cycles: float
    in_strip: bool
    in_tile: bool


@dataclass(frozen=True)
class Cost:
    """The cost of tiles of `tiles` elements in each tiled dimension, shared by `parts` PEs."""

    group: Group
    machine: Machine
    tiles: tuple[int, ...]
    parts: tuple[int, ...]

    @cached_property
    def rounds(self) -> int:
        """How many tiles the busiest cluster computes."""
        pairs = zip(self.group.extents, self.tiles, strict=True)
        count = math.prod(-(-extent // tile) for extent, tile in pairs)
        return -(-count // self.machine.clusters)

    def smem_bytes(self, cut: Cut) -> int:
        """Bytes of the buffers of one cluster, two for each that a transfer fills meanwhile."""
        read = sum(_aligned(part.bytes) * (2 if part.in_tile else 1) for part in self._parts(cut))
        return read + self._made_bytes

    @cached_property
    def _made_bytes(self) -> int:
        """Bytes of the members' results."""
        results = [member for member in self.group.members if self._has_buffer(member)]
        made = sum(self._result_bytes(member) for member in results)
        made += math.prod(self.parts) * SMEM_ALIGNMENT * len(results)  # where PEs have them apart
        again = self._result_bytes(self.group.members[-1]) if self.rounds > 1 else 0
        return made + again

    def cycles(self, cut: Cut) -> float:
        """Modelled cycles of the busiest cluster."""
        parts = list(self._parts(cut))
        once = sum(part.cycles for part in parts if not part.in_tile)
        each = sum(part.cycles for part in parts if part.in_tile and not part.in_strip)
        written = self._written
        if cut is None:
            tile = self._tile_cycles(each + written, self._compute(None), self.rounds)
            return once + each + tile
        steps = -(-self.group.members[cut[0]].nest.extents[cut[1]] // cut[2])
        strip = sum(part.cycles for part in parts if part.in_strip)
        summed = self._cycles[cut[0]] / steps + self._fork
        rest = self._compute(cut[0])
        tile = each + strip + steps * max(strip, summed) + rest + written
        return once + self.rounds * tile

    @cached_property
    def _written(self) -> float:
        """Cycles to copy the result to DDR."""
        root = self.group.members[-1]
        return self._transfer(root, root.nest.destination, self.tiles).cycles

    def _tile_cycles(self, moved: float, computed: float, rounds: int) -> float:
        return rounds * max(moved, computed) if rounds > 1 else moved + computed

    def _parts(self, cut: Cut) -> list[_Part]:
        """What is read from outside, each part of a tensor once."""
        if cut is None:
            return [part for _, _, part in self._whole]
        found = []
        for position, number, part in self._whole:
            nest = self.group.members[position].nest
            if position == cut[0] and nest.uses_loop(number, cut[1]):
                part = self._transfer(self.group.members[position], number, self.tiles, cut)
            found.append(part)
        return found

    @cached_property
    def _whole(self) -> list[tuple[int, int, _Part]]:
        """The same without strips, with the member and the operand that they are of."""
        seen = set()
        found = []
        for position, member in enumerate(self.group.members):
            for number, row in enumerate(member.nest.indices):
                if not row or not self.group.is_read(member, number):
                    continue
                sizes = tuple(part_sizes(member, number, self.tiles))
                key = (member.nest.op.operands[number], sizes)
                if key not in seen:
                    seen.add(key)
                    found.append((position, number, self._transfer(member, number, self.tiles)))
        return found

    def _transfer(
        self, member: Member, number: int, tiles: Sequence[int], cut: Cut = None
    ) -> _Part:
        nest = member.nest
        value = nest.op.operands[number]
        sizes = part_sizes(member, number, tiles, cut)
        width = -(-element_bits(value) // 8)
        in_strip = cut is not None and nest.uses_loop(number, cut[1])
        in_tile = in_strip or any(nest.uses_loop(number, loop) for loop in member.loops)
        cycles = self._dma_cycles(sizes, shape_of(value), width)
        return _Part(math.prod(sizes) * width, cycles, in_strip, in_tile)

    def _dma_cycles(self, sizes: Sequence[int], shape: Sequence[int], width: int) -> float:
        """Cycles of the transfers of a part, as `targets/mppa/csrc/mppa_model.c` has them."""
        machine = self.machine.description
        row, left = width, list(sizes)
        whole = list(shape)
        while left:
            row *= left.pop()
            if row // width != math.prod(whole[len(left) :]):
                break
        rows, transfers = math.prod(left), math.prod(left[:-1])
        engine = rows * (row // machine.dma_word_bytes + row % machine.dma_word_bytes)
        share = machine.ddr_bytes_per_second / machine.clock_hz / self.machine.clusters
        return max(engine, rows * row / share) + transfers * machine.dma_issue_cycles

    @property
    def _fork(self) -> float:
        return self.machine.description.fork_cycles + self.machine.description.pe_cycles

    def _compute(self, without: int | None) -> float:
        """Cycles of all members but one, with the forks around them."""
        if self.group.is_copy:
            return 0
        rest = 0 if without is None else self._cycles[without]
        return sum(self._cycles) - rest + 2 * self._fork

    @cached_property
    def _cycles(self) -> list[float]:
        """Cycles of each member's part of one PE."""
        return [self._member_cycles(member) for member in self.group.members]

    def _member_cycles(self, member: Member) -> float:
        nest = member.nest
        extents = list(nest.extents)
        for loop, tile, part in zip(member.loops, self.tiles, self.parts, strict=True):
            extents[loop] = tile // part
        return math.prod(extents) / self._rate(nest)

    def _rate(self, nest: Structured) -> float:
        """Iterations of a PE per cycle, as `count-operations` has them counted."""
        machine = self.machine.description
        if is_contraction(nest):
            element = next(v.type.element_type for v in nest.op.operands if is_shaped(v))
            return machine.rate(_name(element))
        count = len(body_operations(nest.op)) - 1
        if count:
            return machine.rate("other") / count
        return machine.rate("other") * machine.load_bytes_per_cycle * 8 / element_bits(nest.result)

    def _has_buffer(self, member: Member) -> bool:
        """True where a member's result does not take the place of another's."""
        nest = member.nest
        return nest.op.operands[nest.destination] not in self.group.made

    def _result_bytes(self, member: Member) -> int:
        nest = member.nest
        sizes = part_sizes(member, nest.destination, self.tiles)
        return _aligned(math.prod(sizes) * -(-element_bits(nest.result) // 8))


def _aligned(size: int) -> int:
    return -(-size // SMEM_ALIGNMENT) * SMEM_ALIGNMENT


def _name(element: Type) -> str:
    return _TYPES.get(str(element), "other")

# SPDX-License-Identifier: Apache-2.0
"""The part of an operand that a tile needs: its sizes, its bytes and the cycles to transfer it.

A plan tries hundreds of tilings. Everything that does not depend on the tiling is read from the
operations once, and the costs of parts are cached across tilings.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from xtc.ir.analysis.indices import Index
from xtc.ir.analysis.structured import element_bits, shape_of
from xtc.ir.mlir import Value
from xtc_passes.tensor._tile import Member
from xtc_targets.mppa.description import CoolidgeDescription

Cut = tuple[int, int, int] | None
"""The number of a member, its loop that is cut into strips, and the length of a strip."""


@dataclass(frozen=True)
class Machine:
    """The machine that plans are made for.

    Attributes:
        description: the version of the machine.
        clusters: clusters that run a kernel.
        pes: processing elements of each cluster.
        smem_bytes: bytes of a cluster's memory that a nest may use.
    """

    description: CoolidgeDescription
    clusters: int
    pes: int
    smem_bytes: int

    def dma_cycles(self, sizes: Sequence[int], shape: Sequence[int], width: int) -> float:
        """Cycles to transfer a part of a tensor, as in `targets/mppa/csrc/mppa_model.c`."""
        machine = self.description
        row, left = width, list(sizes)
        while left:
            row *= left.pop()
            if row // width != math.prod(shape[len(left) :]):
                break
        rows, transfers = math.prod(left), math.prod(left[:-1])
        engine = rows * (row // machine.dma_word_bytes + row % machine.dma_word_bytes)
        share = machine.ddr_bytes_per_second / machine.clock_hz / self.clusters
        return max(engine, rows * row / share) + transfers * machine.dma_issue_cycles


@dataclass(frozen=True)
class Part:
    """The part of an operand that one tile, or one strip, needs.

    Attributes:
        sizes: its size in each dimension.
        bytes: its size in bytes, dense.
        cycles: modelled cycles of its transfer.
        in_strip: whether each strip needs a different part.
        in_tile: whether each tile, or strip, needs a different part.
    """

    sizes: tuple[int, ...]
    bytes: int
    cycles: float
    in_strip: bool
    in_tile: bool


@dataclass(frozen=True)
class _Dimension:
    """One dimension of an operand: its size, and the loops that index it.

    Attributes:
        size: size of the whole tensor.
        reach: number of indices that are accessed if every loop has one iteration.
        tiled: the tiled dimensions that index it, each with its factor.
        others: the other loops that index it, each with its factor and its extent.
    """

    size: int
    reach: int
    tiled: tuple[tuple[int, int], ...]
    others: tuple[tuple[int, int, int], ...]

    @staticmethod
    def of(index: Index, size: int, member: Member) -> _Dimension:
        positions = {loop: position for position, loop in enumerate(member.loops)}
        extents = member.nest.extents
        tiled = tuple((positions[loop], by) for loop, by in index.factors if loop in positions)
        others = tuple(
            (loop, by, extents[loop]) for loop, by in index.factors if loop not in positions
        )
        return _Dimension(size, index.offset + 1, tiled, others)

    def part(self, tiles: Sequence[int], loop: int, strip: int) -> int:
        """The size of a tile's part, with strips of `loop`; -1 stands for no loop."""
        if not self.tiled and all(other != loop for other, _, _ in self.others):
            return self.size
        reach = self.reach + sum([by * (tiles[position] - 1) for position, by in self.tiled])
        for other, by, extent in self.others:
            reach += by * ((strip if other == loop else extent) - 1)
        return reach


@dataclass(eq=False)
class Operand:
    """An operand of a member, with a cache of its parts.

    Attributes:
        value: the tensor.
        width: bytes of an element.
        shape: sizes of the whole tensor.
        walked: the tiled dimensions that index it.
        loops: the other loops that index it.
    """

    value: Value
    width: int
    shape: tuple[int, ...]
    walked: tuple[int, ...]
    loops: frozenset[int]
    _dimensions: tuple[_Dimension, ...]
    _parts: dict[tuple[int, ...], Part] = field(default_factory=dict)

    @staticmethod
    def of(member: Member, number: int) -> Operand:
        """The operand `number` of a member."""
        value = member.nest.op.operands[number]
        shape = shape_of(value)
        rows = zip(member.nest.indices[number], shape, strict=True)
        dimensions = tuple(_Dimension.of(index, size, member) for index, size in rows)
        walked = tuple(
            sorted({position for dimension in dimensions for position, _ in dimension.tiled})
        )
        loops = frozenset(loop for dimension in dimensions for loop, _, _ in dimension.others)
        width = -(-element_bits(value) // 8)
        return Operand(value, width, shape, walked, loops, dimensions)

    def sizes(self, tiles: Sequence[int], cut: Cut = None) -> tuple[int, ...]:
        """The sizes of the part that these iterations access, or of a strip of it."""
        _, loop, strip = cut or (0, -1, 0)
        return tuple([dimension.part(tiles, loop, strip) for dimension in self._dimensions])

    def part(self, machine: Machine, tiles: Sequence[int], cut: Cut = None) -> Part:
        """The part of a tile, or of a strip of it."""
        key = (*[tiles[position] for position in self.walked], *(cut or ()))
        if key not in self._parts:
            in_strip = cut is not None and cut[1] in self.loops
            sizes = self.sizes(tiles, cut)
            nbytes = math.prod(sizes) * self.width
            cycles = machine.dma_cycles(sizes, self.shape, self.width)
            self._parts[key] = Part(sizes, nbytes, cycles, in_strip, in_strip or bool(self.walked))
        return self._parts[key]


def part_sizes(member: Member, number: int, sizes: Sequence[int], cut: Cut = None) -> list[int]:
    """The sizes of the part of an operand that these iterations of the tiled loops read."""
    return list(Operand.of(member, number).sizes(sizes, cut))

# SPDX-License-Identifier: Apache-2.0
"""Chooses the tiles with the fewest modelled cycles that fit into a cluster's memory."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from xtc.ir.analysis.structured import Structured
from xtc_targets.mppa.passes._fusion_groups import Group
from xtc_targets.mppa.passes._part_costs import Machine
from xtc_targets.mppa.passes._tile_cost import Cost, Workload

STRIPS = (32, 64, 128, 256, 512)
"""The lengths of reduction strips to try, besides the whole reduction."""
EVEN = 8
"""Larger tile sizes are multiples of this number of elements."""
MAX_TILINGS = 512
"""The most tile sizes that are tried for one loop nest."""


@dataclass(frozen=True)
class Strip:
    """A reduction that is computed strip by strip.

    Attributes:
        member: number of the member in the group.
        loop: the loop that is cut into strips.
        size: iterations of a strip.
    """

    member: int
    loop: int
    size: int


@dataclass(frozen=True)
class Plan:
    """The tiling of a group.

    Attributes:
        tiles: sizes of a tile in the tiled dimensions; the last tile may extend past the end.
        parts: number of PEs that share a tile in each dimension; divisors of its sizes.
        strip: the reduction that is computed strip by strip, or None.
    """

    tiles: tuple[int, ...]
    parts: tuple[int, ...]
    strip: Strip | None = None

    @property
    def chunks(self) -> tuple[int, ...]:
        """Sizes of one PE's part."""
        return tuple(tile // part for tile, part in zip(self.tiles, self.parts, strict=True))

    def counts(self, extents: Sequence[int]) -> tuple[int, ...]:
        """The number of tiles in each of the tiled dimensions."""
        return tuple(-(-extent // tile) for extent, tile in zip(extents, self.tiles, strict=True))


def plan_group(group: Group, machine: Machine) -> Plan | None:
    """The plan with the fewest modelled cycles; None if no tile fits into a cluster's memory."""
    best: tuple[float, Plan] | None = None
    strips = (None, *_strips(group))
    contracts = group.root.reductions or len(group.members) > 1
    work = Workload.of(group, machine)
    pes = machine.pes if work.members else 1
    for tiles in _tilings(work.extents):
        parts = _parts(tiles, pes, bool(contracts))
        rounded = tuple(part * -(-tile // part) for tile, part in zip(tiles, parts, strict=True))
        cost = Cost(work, rounded, parts)
        for strip in strips:
            plan = Plan(rounded, parts, strip)
            step = None if strip is None else (strip.member, strip.loop, strip.size)
            if cost.smem_bytes(step) <= machine.smem_bytes:
                cycles = cost.cycles(step)
                if best is None or cycles < best[0]:
                    best = (cycles, plan)
    return best[1] if best else None


def _tilings(extents: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Tile sizes to try; fewer per dimension if there are many dimensions."""
    wide = sum(extent > 1 for extent in extents)
    most = max(2, int(MAX_TILINGS ** (1 / max(1, wide))))
    return product(*(_sizes(extent, most) for extent in extents))


def _sizes(extent: int, most: int) -> list[int]:
    """Up to `most` sizes that cut `extent` into nearly equal pieces, including 1 and `extent`."""
    counts = {round(1.25**n) for n in range(64)} | {5, 10, 15, 20, 25, 30, extent}
    sizes = sorted({_even(-(-extent // count), extent) for count in counts if count <= extent})
    if len(sizes) <= most:
        return sizes
    return [sizes[n * (len(sizes) - 1) // (most - 1)] for n in range(most)]


def _even(size: int, extent: int) -> int:
    """A size, rounded up to a multiple of vectors and DMA words if that pays."""
    return size if size < 2 * EVEN else min(extent, -(-size // EVEN) * EVEN)


@lru_cache(maxsize=4096)
def _parts(tiles: tuple[int, ...], pes: int, contracts: bool) -> tuple[int, ...]:
    """The division of a tile among PEs: the smallest largest part, with the best shape.

    The best shape is nearly square for a contraction, because PEs then share more of its operands,
    and along rows for other operations.
    """
    best: tuple[tuple[int, int, int], tuple[int, ...]] | None = None
    wide = sorted(range(len(tiles)), key=lambda d: tiles[d])[-2:]
    for counts in product(*(range(1, min(pes, tiles[d]) + 1) for d in wide)):
        if math.prod(counts) > pes:
            continue
        parts = [1] * len(tiles)
        for dimension, count in zip(wide, counts, strict=True):
            parts[dimension] = count
        chunk = [-(-tile // part) for tile, part in zip(tiles, parts, strict=True)]
        waste = sum(
            part * size - tile for part, size, tile in zip(parts, chunk, tiles, strict=True)
        )
        shape = sum(chunk) if contracts else -sum(chunk[-1:])
        key = (math.prod(chunk), waste, shape)
        if best is None or key < best[0]:
            best = (key, tuple(parts))
    return best[1] if best else ()


def _strips(group: Group) -> list[Strip]:
    """The strips to try; none for several reductions, or if one reads a member's result."""
    sums = [n for n, member in enumerate(group.members) if member.nest.reductions]
    if len(sums) != 1:
        return []
    nest = group.members[sums[0]].nest
    inputs = list(nest.op.operands)[: nest.destination]
    loops = [loop for loop in nest.reductions if _can_be_cut(nest, loop)]
    if not loops or not nest.reads_destination or any(value in group.results for value in inputs):
        return []
    loop = max(loops, key=lambda dim: nest.extents[dim])
    extent = nest.extents[loop]
    even = {extent // n for n in range(2, 9) if extent % n == 0}
    return [Strip(sums[0], loop, size) for size in sorted({*STRIPS, *even}) if size < extent]


def _can_be_cut(nest: Structured, loop: int) -> bool:
    """Whether the loop indexes dimensions of operands only on its own, or not at all."""
    return nest.extents[loop] > 1 and all(
        not nest.uses_loop(number, loop) or nest.position(number, loop) is not None
        for number in range(nest.destination)
    )

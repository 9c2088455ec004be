# SPDX-License-Identifier: Apache-2.0
"""Chooses tiles: what fits into a cluster's memory and takes the fewest modelled cycles."""

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
"""Lengths of a strip of a sum that are tried, beside all of it."""
EVEN = 8
"""Elements that sizes of tiles are multiples of, where they are not small."""
MAX_TILINGS = 512
"""Sizes of tiles that are tried for one nest."""


@dataclass(frozen=True)
class Strip:
    """A sum that is computed strip by strip.

    Attributes:
        member: its number in the group.
        loop: the loop that is cut.
        size: iterations of a strip.
    """

    member: int
    loop: int
    size: int


@dataclass(frozen=True)
class Plan:
    """How a group is tiled.

    Attributes:
        tiles: sizes of a tile in the tiled dimensions; the last tile may stick out.
        parts: how many PEs share a tile in each dimension; they divide it.
        strip: the sum that is computed strip by strip, or None.
    """

    tiles: tuple[int, ...]
    parts: tuple[int, ...]
    strip: Strip | None = None

    @property
    def chunks(self) -> tuple[int, ...]:
        """Sizes of one PE's part."""
        return tuple(tile // part for tile, part in zip(self.tiles, self.parts, strict=True))

    def counts(self, extents: Sequence[int]) -> tuple[int, ...]:
        """How many tiles cover each of the tiled dimensions."""
        return tuple(-(-extent // tile) for extent, tile in zip(extents, self.tiles, strict=True))


def plan_group(group: Group, machine: Machine) -> Plan | None:
    """The plan of fewest modelled cycles; None where no tile fits into a cluster's memory."""
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
    """Sizes to try; fewer of each dimension where there are many dimensions."""
    wide = sum(extent > 1 for extent in extents)
    most = max(2, int(MAX_TILINGS ** (1 / max(1, wide))))
    return product(*(_sizes(extent, most) for extent in extents))


def _sizes(extent: int, most: int) -> list[int]:
    """Up to `most` sizes that cut `extent` into pieces of nearly the same size, with 1 and all."""
    counts = {round(1.25**n) for n in range(64)} | {5, 10, 15, 20, 25, 30, extent}
    sizes = sorted({_even(-(-extent // count), extent) for count in counts if count <= extent})
    if len(sizes) <= most:
        return sizes
    return [sizes[n * (len(sizes) - 1) // (most - 1)] for n in range(most)]


def _even(size: int, extent: int) -> int:
    """A size rounded up to what vectors and the DMA's words divide, where that is worth it."""
    return size if size < 2 * EVEN else min(extent, -(-size // EVEN) * EVEN)


@lru_cache(maxsize=4096)
def _parts(tiles: tuple[int, ...], pes: int, contracts: bool) -> tuple[int, ...]:
    """How to share a tile between PEs: the largest part as small as can be, and of a good shape.

    That is nearly square for a contraction, whose PEs read each other's operands less then, and
    along the rows for all else.
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
    """Ways to cut the group's sum; none where it has several, or reads what a member computes."""
    sums = [n for n, member in enumerate(group.members) if member.nest.reductions]
    if len(sums) != 1:
        return []
    nest = group.members[sums[0]].nest
    inputs = list(nest.op.operands)[: nest.destination]
    loops = [loop for loop in nest.reductions if _can_be_cut(nest, loop)]
    if not loops or not nest.reads_destination or any(value in group.made for value in inputs):
        return []
    loop = max(loops, key=lambda dim: nest.extents[dim])
    extent = nest.extents[loop]
    even = {extent // n for n in range(2, 9) if extent % n == 0}
    return [Strip(sums[0], loop, size) for size in sorted({*STRIPS, *even}) if size < extent]


def _can_be_cut(nest: Structured, loop: int) -> bool:
    """True where operands are indexed by the loop alone, or not at all."""
    return nest.extents[loop] > 1 and all(
        not nest.uses_loop(number, loop) or nest.position(number, loop) is not None
        for number in range(nest.destination)
    )

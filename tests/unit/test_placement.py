# SPDX-License-Identifier: Apache-2.0
"""Offsets of buffers that share memory according to their lifetimes."""

from __future__ import annotations

import random

from xtc_passes.local._placement import Extent, footprint, lower_bound, place


def _random(seed: int) -> list[Extent]:
    rng = random.Random(seed)  # noqa: S311
    extents = []
    for _ in range(rng.randint(1, 60)):
        begin = rng.randint(0, 40)
        extents.append(Extent(begin, begin + rng.randint(0, 15), 64 * rng.randint(1, 50)))
    return extents


def test_buffers_with_overlapping_lifetimes_do_not_overlap() -> None:
    for seed in range(200):
        extents = _random(seed)
        offsets = place(extents)
        for n, first in enumerate(extents):
            for m in range(n):
                second = extents[m]
                if first.meets(second):
                    apart = (
                        offsets[n] >= offsets[m] + second.size
                        or offsets[m] >= offsets[n] + first.size
                    )
                    assert apart, seed


def test_plans_are_close_to_the_peak_of_live_bytes() -> None:
    worst = 1.0
    for seed in range(200):
        extents = _random(seed)
        least, used = lower_bound(extents), footprint(extents, place(extents))
        assert least <= used
        worst = max(worst, used / least)
    assert worst < 1.35


def test_a_chain_needs_two_neighbors() -> None:
    extents = [Extent(n, n + 1, 64 * (n + 1)) for n in range(20)]
    assert footprint(extents, place(extents)) == lower_bound(extents) == 64 * 39


def test_the_best_order_is_used() -> None:
    # Ordered by size, the long-lived buffer lies above a gap in which nothing fits.
    extents = [Extent(0, 1, 128), Extent(0, 3, 64), Extent(2, 3, 128), Extent(1, 2, 64)]
    assert footprint(extents, place(extents)) == lower_bound(extents)


def test_no_buffers_need_no_memory() -> None:
    assert place([]) == []
    assert footprint([], []) == lower_bound([]) == 0


def test_swaps_improve_on_all_orders() -> None:
    """Chains of neighbors in which the largest buffers, placed first, leave unusable gaps."""
    sizes = (27648, 28227, 20000, 18432, 38416, 9216)
    extents = [Extent(time, time + 1, size) for time, size in enumerate(sizes)]
    least = lower_bound(extents)
    assert footprint(extents, place(extents)) > least
    offsets = place(extents, swaps=200)
    assert footprint(extents, offsets) == least
    assert offsets == place(extents, swaps=200)

# SPDX-License-Identifier: Apache-2.0
"""Random schedules with two parallel levels, for the tests of GPUs."""

from __future__ import annotations

from random import Random

import xtc
from tests.unit.random_nests import random_blocks
from tests.unit.random_operators import random_graph
from xtc.core.errors import UserError


def blocked_schedule(rng: Random, family: str) -> xtc.Schedule:
    """A schedule of a random graph, with loops over blocks and over threads."""
    for _ in range(50):
        graph = random_graph(rng, family)
        space = xtc.Schedule(graph, "nvgpu")["C"].space
        try:
            return xtc.Schedule.of(graph, {"C": random_blocks(rng, space)}, "nvgpu")
        except UserError:
            continue
    raise AssertionError(f"no legal schedule of {family} in 50")

# SPDX-License-Identifier: Apache-2.0
"""Evolutionary search: offspring of the best points by crossover and one or two mutations."""

from __future__ import annotations

import heapq
from typing import ClassVar

from xtc.search.samplers.base import Sampler
from xtc.search.space import Point, SearchSpace

POPULATION = 16
_TOURNAMENT = 3
_FRESH = 0.1  # share of random points
_TRIES = 50


class EvolutionarySampler(Sampler):
    """Starts with random points; selects parents among the best points by tournament."""

    name: ClassVar[str] = "evolutionary"

    def __init__(self, space: SearchSpace, seed: int) -> None:
        super().__init__(space, seed)
        self._known: list[tuple[float, int, Point]] = []
        self._told = 0

    def _learn(self, point: Point, seconds: float | None) -> None:
        self._told += 1
        if seconds is not None:
            self._known.append((seconds, self._told, point))
            if len(self._known) > 2 * POPULATION:
                self._known = heapq.nsmallest(POPULATION, self._known)

    def _choose(self) -> Point | None:
        if self._told >= POPULATION and self._known and self.rng.random() >= _FRESH:
            for _ in range(_TRIES):
                child = self._child()
                if self._is_new(child) and self.space.allows(child):
                    return child
        return self._random_new()

    def _child(self) -> Point:
        first, second = self._parent(), self._parent()
        mixed = {n: (first if self.rng.random() < 0.5 else second)[n] for n in self.space.names}
        for _ in range(self.rng.choice((1, 1, 2))):
            mixed = self.space.neighbor(mixed, self.rng)
        return mixed

    def _parent(self) -> Point:
        best = heapq.nsmallest(POPULATION, self._known)
        rivals = [self.rng.choice(best) for _ in range(_TOURNAMENT)]
        return min(rivals)[2]

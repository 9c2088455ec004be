# SPDX-License-Identifier: Apache-2.0
"""What a sampler is: it is asked for points, and told how good they were."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from typing import ClassVar

from xtc.search.space import Point, SearchSpace, key, some_points

MAX_LISTED = 1 << 15
"""Spaces up to this size are listed at once; larger ones are sampled."""


class Sampler(ABC):
    """Chooses points, none twice; the same ones for the same seed and the same answers."""

    name: ClassVar[str]

    def __init__(self, space: SearchSpace, seed: int) -> None:
        self.space = space
        self.rng = random.Random(seed)  # noqa: S311  reproducible, not secret
        self._seen: set[tuple[int, ...]] = set()
        self._listed: list[Point] | None = None
        self._is_listed = False

    def ask(self) -> Point | None:
        """The next point, None if there is no other."""
        point = self._choose()
        if point is not None:
            self._seen.add(key(point))
        return point

    def tell(self, point: Point, seconds: float | None) -> None:
        """How long a point takes, None for one that is no good; also of one never asked for."""
        point = {name: point[name] for name in self.space.names}
        self._seen.add(key(point))
        self._learn(point, seconds)

    @abstractmethod
    def _choose(self) -> Point | None:
        """A point that is not among the seen ones."""

    def _learn(self, point: Point, seconds: float | None) -> None:
        """Most learn nothing."""
        return

    def _is_new(self, point: Point) -> bool:
        return key(point) not in self._seen

    def _random_new(self) -> Point | None:
        """A point drawn evenly from the new ones; None if there is none."""
        if not self._is_listed:
            self._is_listed, self._listed = True, some_points(self.space, MAX_LISTED)
            if self._listed is not None:
                self.rng.shuffle(self._listed)
        return self._draw() if self._listed is None else self._next_listed(self._listed)

    def _next_listed(self, listed: list[Point]) -> Point | None:
        while listed:
            point = listed.pop()
            if self._is_new(point):
                return point
        return None

    def _draw(self) -> Point | None:
        for _ in range(100):
            point = self.space.random_point(self.rng)
            if point is None:
                break
            if self._is_new(point):
                return point
        return next((point for point in self.space.points() if self._is_new(point)), None)

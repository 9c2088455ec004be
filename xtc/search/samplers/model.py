# SPDX-License-Identifier: Apache-2.0
"""Points that a regression on what was measured says are fast: extremely randomised trees.

The logarithm of the time is predicted from the logarithms of the parameters, with one feature for
each nest. Of many new points the one is taken whose predicted time, less the spread of the trees'
answers, is lowest (lower confidence bound).
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from xtc.core.errors import UserError
from xtc.search.samplers.base import Sampler
from xtc.search.space import Point, SearchSpace, key
from xtc.search.strategy import NEST

_FIRST = 20  # random points before there is a model
_EVERY = 12  # answers after which the model is fitted again
_TREES = 50
_POOL = 400  # points that are predicted at once
_BEST = 10  # whose neighbours are among them
_FRESH = 0.1  # how often a point is drawn at random all the same
_KAPPA = 1.0  # how many standard deviations count as hope
_FAILED = 2.0  # a point without a time counts as the slowest one times this


class ModelSampler(Sampler):
    """Learns from every answer; needs scikit-learn."""

    name: ClassVar[str] = "model"

    def __init__(self, space: SearchSpace, seed: int) -> None:
        super().__init__(space, seed)
        try:
            from sklearn.ensemble import ExtraTreesRegressor
        except ImportError:
            raise UserError(
                "the sampler 'model' needs scikit-learn",
                hints=["pip install scikit-learn, or use --sampler evolutionary"],
            ) from None
        self._make = ExtraTreesRegressor
        self._seed = seed
        self._points: list[Point] = []
        self._seconds: list[float | None] = []
        self._trees: Any = None
        self._fitted = 0
        self._queue: list[Point] = []

    def _learn(self, point: Point, seconds: float | None) -> None:
        self._points.append(point)
        self._seconds.append(seconds)

    def _choose(self) -> Point | None:
        good = sum(second is not None for second in self._seconds)
        if good < _FIRST or self.rng.random() < _FRESH:
            return self._random_new()
        if self._trees is None or len(self._points) - self._fitted >= _EVERY:
            self._fit()
        self._queue = [point for point in self._queue if self._is_new(point)]
        if not self._queue:
            self._queue = self._promising()
        return self._queue.pop(0) if self._queue else self._random_new()

    def _fit(self) -> None:
        slowest = max(second for second in self._seconds if second is not None)
        times = [slowest * _FAILED if second is None else second for second in self._seconds]
        features = np.array([self._features(point) for point in self._points])
        self._trees = self._make(_TREES, random_state=self._seed, min_samples_leaf=1)
        self._trees.fit(features, np.log(times))
        self._fitted, self._queue = len(self._points), []

    def _promising(self) -> list[Point]:
        """The new points of a pool that the model likes most."""
        pool = self._pool()
        if not pool:
            return []
        features = np.array([self._features(point) for point in pool], dtype=np.float32)
        answers = np.array([tree.predict(features) for tree in self._trees.estimators_])
        bound = answers.mean(axis=0) - _KAPPA * answers.std(axis=0)
        return [pool[index] for index in np.argsort(bound, kind="stable")[:_EVERY]]

    def _pool(self) -> list[Point]:
        pool: dict[tuple[int, ...], Point] = {}
        for _ in range(_POOL // 2):
            point = self.space.random_point(self.rng)
            if point is not None and self._is_new(point):
                pool[key(point)] = point
        for _ in range(_POOL // 2):
            point = self.space.neighbour(self.rng.choice(self._best()), self.rng)
            if self._is_new(point) and self.space.allows(point):
                pool[key(point)] = point
        return list(pool.values())

    def _best(self) -> list[Point]:
        order = sorted(
            (seconds, index) for index, seconds in enumerate(self._seconds) if seconds is not None
        )
        return [self._points[index] for _, index in order[:_BEST]]

    def _features(self, point: Point) -> list[float]:
        features: list[float] = []
        for name, value in point.items():
            if name.rpartition(".")[2] == NEST:
                features += [float(value == choice) for choice in self.space.values[name]]
            else:
                features.append(math.log2(value))
        return features

# SPDX-License-Identifier: Apache-2.0
"""Points that a regression predicts to be fast: extremely randomized trees.

The logarithm of the time is predicted from the logarithms of the parameters, with one feature for
each nest. Among many new points it chooses the one with the lowest predicted time minus the spread
of the trees' predictions (lower confidence bound).
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
_EVERY = 12  # results between two fits of the model
_TREES = 50
_POOL = 400  # points per prediction
_BEST = 10  # points whose neighbors are in the pool
_FRESH = 0.1  # share of random points
_KAPPA = 1.0  # standard deviations in the lower confidence bound
_FAILED = 2.0  # a failed point counts as this multiple of the slowest time


class ModelSampler(Sampler):
    """Learns from every result; needs scikit-learn."""

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
        """The new points of a pool, the most promising first."""
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
            point = self.space.neighbor(self.rng.choice(self._best()), self.rng)
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

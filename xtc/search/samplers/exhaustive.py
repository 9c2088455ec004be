# SPDX-License-Identifier: Apache-2.0
"""Every point, in the order of the parameters and their values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from xtc.search.samplers.base import Sampler
from xtc.search.space import Point, SearchSpace


class ExhaustiveSampler(Sampler):
    """For small spaces; ignores the seed."""

    name: ClassVar[str] = "exhaustive"

    def __init__(self, space: SearchSpace, seed: int) -> None:
        super().__init__(space, seed)
        self._points: Iterator[Point] = space.points()

    def _choose(self) -> Point | None:
        return next((point for point in self._points if self._is_new(point)), None)

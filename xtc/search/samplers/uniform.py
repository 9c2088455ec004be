# SPDX-License-Identifier: Apache-2.0
"""Distinct points drawn uniformly."""

from __future__ import annotations

from typing import ClassVar

from xtc.search.samplers.base import Sampler
from xtc.search.space import Point


class RandomSampler(Sampler):
    """Random search, which is effective if many points are good."""

    name: ClassVar[str] = "random"

    def _choose(self) -> Point | None:
        return self._random_new()

# SPDX-License-Identifier: Apache-2.0
"""Ways to choose the next points of a search; each by its name."""

from __future__ import annotations

from pathlib import Path

from xtc.core.errors import UserError, did_you_mean
from xtc.search.samplers.base import Sampler
from xtc.search.samplers.evolution import EvolutionarySampler
from xtc.search.samplers.exhaustive import ExhaustiveSampler
from xtc.search.samplers.listed import SUFFIX, ListedSampler
from xtc.search.samplers.model import ModelSampler
from xtc.search.samplers.uniform import RandomSampler
from xtc.search.space import SearchSpace

SAMPLERS: dict[str, type[Sampler]] = {
    kind.name: kind
    for kind in (RandomSampler, ExhaustiveSampler, EvolutionarySampler, ModelSampler)
}

__all__ = ["SAMPLERS", "Sampler", "sampler"]


def sampler(name: str, space: SearchSpace, seed: int) -> Sampler:
    """A new sampler by its name, or that of a CSV file.

    Raises UserError if there is none, or it lacks a package.
    """
    if name.endswith(SUFFIX):
        return ListedSampler(space, Path(name))
    if name not in SAMPLERS:
        raise UserError(f"there is no sampler '{name}'", hints=did_you_mean(name, SAMPLERS))
    return SAMPLERS[name](space, seed)

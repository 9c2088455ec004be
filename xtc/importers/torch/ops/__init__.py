# SPDX-License-Identifier: Apache-2.0
"""The operator table's functions, by family; importing this package fills the table."""

from xtc.importers.torch.ops import (
    arithmetic,
    attention,
    bags,
    complex,
    encoder,
    gradients,
    layers,
    movement,
    normalization,
    reduction,
    sampling,
    search,
)

__all__ = [
    "arithmetic",
    "attention",
    "bags",
    "complex",
    "encoder",
    "gradients",
    "layers",
    "movement",
    "normalization",
    "reduction",
    "sampling",
    "search",
]

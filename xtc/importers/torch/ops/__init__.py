# SPDX-License-Identifier: Apache-2.0
"""The functions of the table, by family; importing this package fills the table."""

from xtc.importers.torch.ops import (
    arithmetic,
    attention,
    complex,
    encoder,
    gradients,
    layers,
    movement,
    normalisation,
    reduction,
    sampling,
)

__all__ = [
    "arithmetic",
    "attention",
    "complex",
    "encoder",
    "gradients",
    "layers",
    "movement",
    "normalisation",
    "reduction",
    "sampling",
]

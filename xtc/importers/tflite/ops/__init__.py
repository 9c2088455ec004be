# SPDX-License-Identifier: Apache-2.0
"""The operator table's functions, by family; importing this package fills the table."""

from xtc.importers.tflite.ops import (
    activation,
    arithmetic,
    contraction,
    logic,
    movement,
    pooling,
    quantized,
    recurrent,
    reduction,
    resize,
)

__all__ = [
    "activation",
    "arithmetic",
    "contraction",
    "logic",
    "movement",
    "pooling",
    "quantized",
    "recurrent",
    "reduction",
    "resize",
]

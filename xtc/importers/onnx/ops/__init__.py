# SPDX-License-Identifier: Apache-2.0
"""The functions of the table, by family; importing this package fills the table."""

from xtc.importers.onnx.ops import (
    activation,
    arithmetic,
    attention,
    contributed,
    control,
    convolution,
    linear,
    loss,
    movement,
    normalisation,
    pooling,
    quantised,
    recurrent,
    reduction,
    resize,
    sampling,
    shape,
    signal,
)

__all__ = [
    "activation",
    "arithmetic",
    "attention",
    "contributed",
    "control",
    "convolution",
    "linear",
    "loss",
    "movement",
    "normalisation",
    "pooling",
    "quantised",
    "recurrent",
    "reduction",
    "resize",
    "sampling",
    "shape",
    "signal",
]

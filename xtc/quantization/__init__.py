# SPDX-License-Identifier: Apache-2.0
"""Post-training quantization: converts a float32 graph to int8, calibrated on sample inputs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from xtc.graph.graph import Graph
from xtc.quantization.convert import converted
from xtc.quantization.ranges import observed
from xtc.quantization.report import OperatorError, QuantizedGraph, measured

__all__ = ["OperatorError", "QuantizedGraph", "quantize"]


def quantize(graph: Graph, samples: Iterable[Any], *, int8_io: bool = False) -> QuantizedGraph:
    """`graph` with its operators in int8 if they have an int8 form; others stay float32.

    Weights have a scale for each filter or column and no zero point. Sums are int32 and include the
    bias. Each result has a scale and a zero point from its range over the samples. ReLUs and clamps
    are fused into the preceding requantization. Other functions of one tensor become lookup tables
    of 256 elements. Rounding is that of TensorFlow Lite's reference kernels.

    Args:
        graph: its inputs and outputs are float32; symbolic sizes stay.
        samples: representative inputs: arrays, or for several inputs tuples in their order or
            dicts by name. Some dozens are enough.
        int8_io: whether inputs and outputs become int8; `quantizations` has their scales.

    Raises UserError for missing or unfit samples, and for results that are not finite.
    """
    arrays = list(samples)
    ranges = observed(graph, arrays)
    found = converted(graph, ranges, int8_io)
    return measured(graph, found, arrays)

# SPDX-License-Identifier: Apache-2.0
"""Post-training quantisation: a graph of float32 as one of int8, by sample inputs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from xtc.graph.graph import Graph
from xtc.quantization.convert import converted
from xtc.quantization.ranges import observed
from xtc.quantization.report import OperatorError, QuantizedGraph, measured

__all__ = ["OperatorError", "QuantizedGraph", "quantize"]


def quantize(graph: Graph, samples: Iterable[Any], *, int8_io: bool = False) -> QuantizedGraph:
    """`graph` with its operators in int8, as far as they have such a form; the rest stays float32.

    Weights have a scale for each filter or column and no zero point, sums are int32 with the bias
    folded in, and each result has a scale and a zero point from its range over the samples. ReLUs
    and clamps join the requantisation before them. Other functions of one tensor are tables of 256
    elements. Rounding is that of TensorFlow Lite's reference kernels.

    Args:
        graph: its inputs and outputs are float32; symbolic sizes stay.
        samples: some inputs as the network will see them: arrays, or for several inputs tuples in
            their order or dicts by name. Some dozens are enough.
        int8_io: whether inputs and outputs become int8; `quantizations` has their scales.

    Raises UserError for samples that do not fit, none, or results that are not finite.
    """
    arrays = list(samples)
    ranges = observed(graph, arrays)
    found = converted(graph, ranges, int8_io)
    return measured(graph, found, arrays)

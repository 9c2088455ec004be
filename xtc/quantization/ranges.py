# SPDX-License-Identifier: Apache-2.0
"""The range of each tensor over sample inputs, and the scale and zero point that fit it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from xtc.core.errors import UserError
from xtc.graph.graph import Graph
from xtc.graph.reference import evaluate_nodes
from xtc.graph.tensor import Tensor
from xtc.ops.quantized import Quantization

LEAST, GREATEST = -128, 127
_SMALLEST = 1e-6  # narrower ranges are widened to this

Range = tuple[float, float]


def by_name(graph: Graph, sample: Any) -> dict[str, Any]:
    """A sample's arrays by the names of the inputs. Raises UserError."""
    names = [str(tensor.name) for tensor in graph.inputs]
    if isinstance(sample, Mapping):
        return dict(sample)
    parts = sample if isinstance(sample, tuple | list) else (sample,)
    if len(parts) != len(names):
        raise UserError(
            f"a sample has {len(parts)} arrays, and graph '{graph.name}' {len(names)} inputs",
            hints=["give a list of samples, each an array, a tuple of arrays, or a dict by name"],
        )
    return dict(zip(names, parts, strict=True))


def observed(graph: Graph, samples: Sequence[Any]) -> dict[Tensor, Range]:
    """The least and the greatest element of each input and result, 0 included. Raises UserError."""
    if not samples:
        raise UserError("xtc.quantize needs samples, and there are none")
    found: dict[Tensor, Range] = {}
    outputs = [node.output for node in graph.nodes]
    for sample in samples:
        given = by_name(graph, sample)
        results = evaluate_nodes(graph, given)
        inputs = [np.asarray(given[str(tensor.name)]) for tensor in graph.inputs]
        pairs = zip((*graph.inputs, *outputs), (*inputs, *results), strict=True)
        for tensor, array in pairs:
            if array.dtype == np.float32:
                found[tensor] = _wider(found.get(tensor, (0.0, 0.0)), array, tensor)
    return found


def _wider(known: Range, array: Any, tensor: Tensor) -> Range:
    low, high = float(array.min()), float(array.max())
    if not (np.isfinite(low) and np.isfinite(high)):
        raise UserError(f"'{tensor.name}' is not finite for a sample")
    return min(known[0], low), max(known[1], high)


def fitting(range: Range) -> Quantization:
    """The int8 quantization that covers a range with 256 numbers and represents 0 exactly."""
    low, high = range
    scale = float(np.float32(max(high - low, _SMALLEST) / (GREATEST - LEAST)))
    zero_point = round(LEAST - low / scale)
    return Quantization(scale, min(max(zero_point, LEAST), GREATEST))


def steps(values: Any, quantization: Quantization) -> Any:
    """Real numbers as int8."""
    rounded = np.rint(np.asarray(values, np.float64) / quantization.scale)
    return np.clip(rounded + quantization.zero_point, LEAST, GREATEST).astype(np.int8)

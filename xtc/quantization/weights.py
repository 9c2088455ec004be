# SPDX-License-Identifier: Apache-2.0
"""Weights as int8 with a scale for each filter, and biases in the scale of the sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from xtc.ops.quantized import Quantization

_MOST = 127
_LARGEST_BIAS = 1 << 29  # leaves headroom for the products


@dataclass(frozen=True)
class Weights:
    """Weights of a contraction, filters last.

    Attributes:
        values: int8.
        bias: int32, corrected for the zero point of the operand.
        scales: scales of the sums, one for each filter.
    """

    values: Any
    bias: Any
    scales: Any


def rounded(weights: Any, bias: Any, x: Quantization) -> Weights:
    """Quantize float32 weights (..., f) and a bias (f,) for an operand quantized as `x`."""
    filters = weights.shape[-1]
    rows = weights.reshape(-1, filters).astype(np.float64)
    scales = np.abs(rows).max(axis=0) / _MOST
    wanted = np.broadcast_to(np.asarray(bias, np.float64), (filters,))
    scales = np.maximum(scales, np.abs(wanted) / (x.scale * _LARGEST_BIAS))
    scales = np.where(scales > 0, scales, 1.0).astype(np.float32).astype(np.float64)
    values = np.clip(np.rint(rows / scales), -_MOST, _MOST).astype(np.int8)
    sums = scales * x.scale
    whole = np.rint(wanted / sums).astype(np.int64)
    whole = whole - x.zero_point * values.sum(axis=0, dtype=np.int64)
    return Weights(values.reshape(weights.shape), whole.astype(np.int32), sums)

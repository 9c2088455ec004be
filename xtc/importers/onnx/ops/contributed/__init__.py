# SPDX-License-Identifier: Apache-2.0
"""Operators of the domain com.microsoft; importing this package adds them to the table."""

from xtc.importers.onnx.ops.contributed import (
    attention,
    few_bits,
    grouped_query,
    layers,
    normalization,
    quantized,
    recurrent,
)

__all__ = [
    "attention",
    "few_bits",
    "grouped_query",
    "layers",
    "normalization",
    "quantized",
    "recurrent",
]

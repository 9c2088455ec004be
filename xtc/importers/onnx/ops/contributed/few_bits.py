# SPDX-License-Identifier: Apache-2.0
"""Weights of 4 or 8 bits with a scale for each block, as language models are stored."""

from __future__ import annotations

import numpy as np

import xtc.ops as O
from xtc.importers.onnx.call import Call
from xtc.importers.onnx.ops.contributed.domain import contributed
from xtc.importers.onnx.table import Result
from xtc.importers.values import Array, Unsupported, as_tensor


@contributed("MatMulNBits", 1)
def matmul_of_few_bits(call: Call) -> Result:
    """Weights of 4 or 8 bits with a scale for each block of rows, dequantised at import."""
    columns, depth = int(call.required("N")), int(call.required("K"))
    if call.has(4):
        raise Unsupported("weights in another order")
    weights = _dequantised(call, columns, depth)
    x = call.tensor(0)
    product = O.matmul(x, as_tensor(weights.astype(x.element.numpy)), transpose_b=True)
    return O.add(product, call.tensor(5)) if call.has(5) else product


def _dequantised(call: Call, columns: int, depth: int) -> Array:
    """(columns, depth); block after block of a row, the lower bits of a byte first."""
    bits, size = int(call.attribute("bits", 4)), int(call.required("block_size"))
    if bits not in (4, 8):
        raise Unsupported(f"weights of {bits} bits")
    blocks = -(-depth // size)
    values = _unpacked(call.static(1).reshape(columns, -1), bits).reshape(columns, blocks, size)
    scales = call.static(2).astype(np.float32).reshape(columns, blocks, 1)
    zeros: Array = np.full((columns, blocks, 1), 1 << (bits - 1), np.float32)
    if call.has(3):
        given = call.static(3)
        plain = given if given.dtype != np.uint8 else _unpacked(given.reshape(columns, -1), bits)
        zeros = plain[:, :blocks].reshape(columns, blocks, 1).astype(np.float32)
    whole: Array = ((values.astype(np.float32) - zeros) * scales).reshape(columns, blocks * size)
    return whole[:, :depth]


def _unpacked(rows: Array, bits: int) -> Array:
    """Bytes as the unsigned numbers that they hold."""
    if bits == 8:
        return rows
    return np.stack([rows & 15, rows >> 4], axis=-1).reshape(len(rows), -1)

# SPDX-License-Identifier: Apache-2.0
"""Block-quantized weights of 4 or 8 bits, the usual storage format of language models."""

from __future__ import annotations

import numpy as np

import xtc.ops as O
from xtc.importers.onnx.call import Call
from xtc.importers.onnx.ops.contributed.domain import contributed
from xtc.importers.onnx.table import Result
from xtc.importers.values import Array, Unsupported


@contributed("MatMulNBits", 1)
def matmul_of_few_bits(call: Call) -> Result:
    """A matmul with block-quantized weights, which remain quantized."""
    if call.has(4):
        raise Unsupported("reordered weights")
    bits, columns = int(call.attribute("bits", 4)), int(call.required("N"))
    depth, size = int(call.required("K")), int(call.required("block_size"))
    if bits not in (4, 8):
        raise Unsupported(f"weights of {bits} bits")
    blocks = -(-depth // size)
    x = call.tensor(0)
    wide = O.cast(x, "float32")
    rest = blocks * size - depth  # the last block may be padded
    padded = O.pad(wide, ((0, 0),) * (x.type.rank - 1) + ((0, rest),)) if rest else wide
    codes = _unpacked(call.static(1).reshape(columns, -1), bits)
    scales = call.static(2).astype(np.float32).reshape(columns, blocks)
    zeros = _zero_points(call, columns, blocks, bits).T if call.has(3) else None
    weights = O.coded_weights(np.ascontiguousarray(codes.T), scales.T, zeros, bits=bits)
    product = O.cast(O.matmul(padded, weights), x.dtype)
    return O.add(product, call.tensor(5)) if call.has(5) else product


def _zero_points(call: Call, columns: int, blocks: int, bits: int) -> Array:
    """A zero point for each block of a column: a number like the scales, or a code."""
    given = call.static(3)
    if given.dtype != np.uint8:
        return given.reshape(columns, blocks)
    return _unpacked(given.reshape(columns, -1), bits)[:, :blocks]


def _unpacked(rows: Array, bits: int) -> Array:
    """Unpack bytes into unsigned codes."""
    if bits == 8:
        return rows
    return np.stack([rows & 15, rows >> 4], axis=-1).reshape(len(rows), -1)

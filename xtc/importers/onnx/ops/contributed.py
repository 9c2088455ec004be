# SPDX-License-Identifier: Apache-2.0
"""Operators of the domain com.microsoft, which ONNX Runtime's optimiser writes into files.

Each as ONNX Runtime's list of contributed operators defines it: docs/ContribOperators.md there.
"""

from __future__ import annotations

import functools

import numpy as np

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.onnx.call import Call
from xtc.importers.onnx.table import Result, reads
from xtc.importers.values import Array, Unsupported, as_tensor

DOMAIN = "com.microsoft"
contributed = functools.partial(reads, domain=DOMAIN, folds=False)


@contributed("Gelu", 1)
def gelu(call: Call) -> Result:
    return O.gelu(call.tensor(0))


@contributed("BiasGelu", 1)
def bias_gelu(call: Call) -> Result:
    return O.gelu(O.add(call.tensor(0), call.tensor(1)))


@contributed("FastGelu", 1)
def fast_gelu(call: Call) -> Result:
    x = call.tensor(0)
    return O.gelu(O.add(x, call.tensor(1)) if call.has(1) else x, approximate="tanh")


@contributed("QuickGelu", 1)
def quick_gelu(call: Call) -> Result:
    x = call.tensor(0)
    return O.mul(x, O.sigmoid(O.mul(x, float(call.attribute("alpha", 1.702)))))


@contributed("FusedMatMul", 1)
def fused_matmul(call: Call) -> Result:
    if call.attribute("transBatchA", 0) or call.attribute("transBatchB", 0):
        raise Unsupported("transposed batches")
    a, b = call.tensor(0), call.tensor(1)
    product = O.matmul(
        a,
        b,
        transpose_a=bool(call.attribute("transA", 0)),
        transpose_b=bool(call.attribute("transB", 0)),
    )
    alpha = float(call.attribute("alpha", 1.0))
    return product if alpha == 1 else O.mul(product, alpha)


@contributed("SkipLayerNormalization", 1)
def skip_layer_norm(call: Call) -> Result:
    total = _sum(call, 4)
    result = O.layer_norm(total, call.tensor(2), call.optional(3), eps=_epsilon(call))
    return [result, None, None, total]


@contributed("SkipSimplifiedLayerNormalization", 1)
def skip_rms_norm(call: Call) -> Result:
    total = _sum(call, 3)
    return [_rms_norm(total, call.tensor(2), _epsilon(call)), None, None, total]


@reads("SimplifiedLayerNormalization", 1, folds=False)
def rms_norm(call: Call) -> Result:
    x = call.tensor(0)
    if call.axis(default=-1) != x.type.rank - 1:
        raise Unsupported("a normalisation of more than the last dimension")
    return _rms_norm(x, call.tensor(1), _epsilon(call))


def _sum(call: Call, bias: int) -> Tensor:
    total = O.add(call.tensor(0), call.tensor(1))
    return O.add(total, call.tensor(bias)) if call.has(bias) else total


def _epsilon(call: Call) -> float:
    return float(call.attribute("epsilon", 1e-5))


def _rms_norm(x: Tensor, gamma: Tensor, eps: float) -> Tensor:
    squares = O.reduce_mean(O.mul(x, x), axes=(-1,), keepdims=True)
    return O.mul(O.mul(x, O.rsqrt(O.add(squares, eps))), gamma)


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

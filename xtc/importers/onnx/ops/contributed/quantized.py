# SPDX-License-Identifier: Apache-2.0
"""Quantized layers, as ONNX Runtime's quantizer writes them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.windows import channels_first, channels_last
from xtc.importers.onnx.call import Call
from xtc.importers.onnx.ops.contributed.attention import projected_attention
from xtc.importers.onnx.ops.contributed.domain import contributed
from xtc.importers.onnx.ops.contributed.normalization import embed_layer_norm
from xtc.importers.onnx.ops.pooling import average_pool
from xtc.importers.onnx.ops.quantized import (
    dequantize_linear,
    dequantized,
    dynamically_quantized,
    integer_matmul,
    quantize_linear,
    quantized,
)
from xtc.importers.onnx.ops.reduction import softmax_of
from xtc.importers.onnx.table import Result
from xtc.importers.values import Unsupported

contributed("QuantizeLinear", 1)(quantize_linear)
contributed("DequantizeLinear", 1)(dequantize_linear)


def _number(x: Tensor) -> Tensor:
    """A one-element vector as a scalar."""
    return O.reshape(x, ()) if x.type.size == 1 else x


def real(call: Call, position: int, scale: int | None = None) -> Tensor:
    """Dequantize an operand; its scale and zero point follow it, or begin at `scale`."""
    at = position + 1 if scale is None else scale
    zero = _number(call.tensor(at + 1)) if call.has(at + 1) else None
    return dequantized(call.tensor(position), _number(call.tensor(at)), zero)


def rounded(call: Call, x: Tensor, position: int, dtype: str) -> Tensor:
    """Quantize float32 by the scale at `position` and the zero point after it."""
    zero = _number(call.tensor(position + 1)) if call.has(position + 1) else None
    return quantized(x, _number(call.tensor(position)), zero, dtype)


@contributed("QLinearAdd", 1)
def qlinear_add(call: Call) -> Result:
    return rounded(call, O.add(real(call, 0), real(call, 3)), 6, call.dtype())


@contributed("QLinearMul", 1)
def qlinear_mul(call: Call) -> Result:
    return rounded(call, O.mul(real(call, 0), real(call, 3)), 6, call.dtype())


@contributed("QLinearSigmoid", 1)
def qlinear_sigmoid(call: Call) -> Result:
    return rounded(call, O.sigmoid(real(call, 0)), 3, call.dtype())


@contributed("QLinearLeakyRelu", 1)
def qlinear_leaky_relu(call: Call) -> Result:
    slope = float(call.attribute("alpha", 0.01))
    return rounded(call, O.leaky_relu(real(call, 0), slope=slope), 3, call.dtype())


@contributed("QLinearSoftmax", 1)
def qlinear_softmax(call: Call) -> Result:
    x, axis = real(call, 0), call.axis(default=-1)
    if int(call.attribute("opset", 13)) >= 13:
        return rounded(call, softmax_of(x, axis), 3, call.dtype())
    rows = int(np.prod(x.type.sizes[:axis], dtype=np.int64))
    flat = softmax_of(O.reshape(x, (rows, x.type.size // rows)), 1)
    return rounded(call, O.reshape(flat, x.type.sizes), 3, call.dtype())


@contributed("QLinearWhere", 1)
def qlinear_where(call: Call) -> Result:
    chosen = O.where(call.tensor(0), real(call, 1), real(call, 4))
    return rounded(call, chosen, 7, call.dtype(1))


@contributed("QLinearConcat", 1)
def qlinear_concat(call: Call) -> Result:
    parts = [real(call, position) for position in range(2, len(call.inputs), 3)]
    axis = call.axis(rank=parts[0].type.rank)
    whole = O.concat(*parts, axis=axis) if len(parts) > 1 else parts[0]
    return rounded(call, whole, 0, call.dtype(2))


@contributed("QLinearReduceMean", 1)
def qlinear_reduce_mean(call: Call) -> Result:
    x = real(call, 0)
    axes = [int(axis) % x.type.rank for axis in call.attribute("axes", range(x.type.rank))]
    kept = bool(call.attribute("keepdims", 1))
    return rounded(call, O.reduce_mean(x, axes=tuple(axes), keepdims=kept), 3, call.dtype())


@contributed("QLinearGlobalAveragePool", 1)
def qlinear_global_average_pool(call: Call) -> Result:
    x = real(call, 0)
    last = bool(call.attribute("channels_last", 0))
    axes = range(1, x.type.rank - 1) if last else range(2, x.type.rank)
    return rounded(call, O.reduce_mean(x, axes=tuple(axes), keepdims=True), 3, call.dtype())


@contributed("QLinearAveragePool", 1)
def qlinear_average_pool(call: Call) -> Result:
    x, last = real(call, 0), bool(call.attribute("channels_last", 0))
    mean = average_pool(call.on(channels_first(x) if last else x))
    return rounded(call, channels_last(mean) if last else mean, 3, call.dtype())


@contributed("MatMulIntegerToFloat", 1)
def matmul_integer_to_float(call: Call) -> Result:
    total = integer_matmul(
        call.tensor(0), call.optional(4), call.tensor(1), call.optional(5), _columns(call, 5)
    )
    scale = O.mul(_number(call.tensor(2)), _number(call.tensor(3)))
    return _biased(O.mul(O.cast(total, scale.dtype), scale), call.optional(6))


def _columns(call: Call, position: int) -> bool:
    """Whether the zero points at a position may be nonzero."""
    value = call.inputs[position] if call.has(position) else np.zeros(1)
    return isinstance(value, Tensor) or bool(np.any(value))


def _biased(x: Tensor, bias: Tensor | None) -> Tensor:
    return x if bias is None else O.add(x, bias)


@contributed("DynamicQuantizeMatMul", 1)
def dynamic_quantize_matmul(call: Call) -> Result:
    a, scale, zero = dynamically_quantized(call.tensor(0))
    total = integer_matmul(a, zero, call.tensor(1), call.optional(3), _columns(call, 3))
    factor = O.mul(scale, _number(call.tensor(2)))
    return _biased(O.mul(O.cast(total, "float32"), factor), call.optional(4))


@contributed("QGemm", 1)
def qgemm(call: Call) -> Result:
    a, b = call.tensor(0), call.tensor(3)
    if call.attribute("transA", 0):
        a = O.transpose(a, axes=(1, 0))
    if call.attribute("transB", 0):
        b = O.transpose(b, axes=(1, 0))
    total = integer_matmul(a, call.optional(2), b, call.optional(5), _columns(call, 5))
    if call.has(6):
        total = O.add(total, call.tensor(6))
    scale = O.mul(_number(call.tensor(1)), _number(call.tensor(4)))
    result = O.mul(O.cast(total, "float32"), O.mul(scale, float(call.attribute("alpha", 1.0))))
    return rounded(call, result, 7, call.dtype()) if call.has(7) else result


@contributed("QAttention", 1)
def qattention(call: Call) -> Result:
    if call.attribute("do_rotary", 0):
        raise Unsupported("rotated keys")
    total = integer_matmul(
        call.tensor(0), call.optional(6), call.tensor(1), call.optional(7), _columns(call, 7)
    )
    scale = O.mul(_number(call.tensor(3)), _number(call.tensor(4)))
    projected = O.add(O.mul(O.cast(total, "float32"), scale), call.tensor(2))
    return projected_attention(call, projected, mask=5, past=8, bias=len(call.inputs))


@contributed("QEmbedLayerNormalization", 1)
def qembed_layer_norm(call: Call) -> Result:
    def table(position: int, scale: int) -> Tensor | None:
        if not call.has(position):
            return None
        return dequantized(
            call.tensor(position), _number(call.tensor(scale)), _number(call.tensor(scale + 5))
        )

    tables: Sequence[Tensor | None] = [table(2 + n, 8 + n) for n in range(5)]
    inputs = (call.inputs[0], call.inputs[1], *tables, *call.inputs[7:8])
    return list(embed_layer_norm(call.on(*inputs)))[:2]

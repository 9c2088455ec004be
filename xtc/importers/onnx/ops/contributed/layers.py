# SPDX-License-Identifier: Apache-2.0
"""Activations and fused operators that ONNX Runtime's optimizer emits."""

from __future__ import annotations

import math
from collections.abc import Sequence

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.movement import part
from xtc.importers.compositions.windows import channels_first, channels_last
from xtc.importers.onnx.call import Call
from xtc.importers.onnx.ops.contributed.domain import contributed
from xtc.importers.onnx.ops.convolution import conv
from xtc.importers.onnx.ops.linear import gemm
from xtc.importers.onnx.ops.pooling import max_pool
from xtc.importers.onnx.ops.recurrent import activation_of
from xtc.importers.onnx.ops.reduction import softmax_of
from xtc.importers.onnx.table import Result
from xtc.importers.values import Unsupported


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


@contributed("TransposeMatMul", 1)
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


@contributed("ScaledSiLU", 1)
def scaled_silu(call: Call) -> Result:
    x = call.tensor(0)
    result = O.mul(x, O.sigmoid(O.mul(x, float(call.attribute("alpha", 1.0)))))
    return O.mul(result, call.tensor(1)) if call.has(1) else result


@contributed("BiasAdd", 1)
def bias_add(call: Call) -> Result:
    return O.add(O.add(call.tensor(0), call.tensor(1)), call.tensor(2))


@contributed("BiasSplitGelu", 1)
def bias_split_gelu(call: Call) -> Result:
    x = O.add(call.tensor(0), call.tensor(1))
    half = x.type.sizes[-1] // 2
    return O.mul(
        part(x, x.type.rank - 1, 0, half), O.gelu(part(x, x.type.rank - 1, half, 2 * half))
    )


@contributed("BiasSoftmax", 1)
def bias_softmax(call: Call) -> Result:
    x, bias, axis = call.tensor(0), call.tensor(1), call.axis(default=1)
    if not call.attribute("is_inner_broadcast", 0):
        shape, lead = bias.type.sizes, x.type.rank - bias.type.rank
        bias = O.reshape(bias, (shape[0], *[1] * lead, *shape[1:]))
    total, sizes = O.add(x, bias), x.type.sizes
    rows = O.reshape(total, (math.prod(sizes[:axis]), math.prod(sizes[axis:])))
    return O.reshape(softmax_of(rows, 1), sizes)


@contributed("FusedConv", 1)
def fused_conv(call: Call) -> Result:
    result = conv(call)
    result = O.add(result, call.tensor(3)) if call.has(3) else result
    return _activated(call, result, [float(x) for x in call.attribute("activation_params", [])])


@contributed("FusedGemm", 1)
def fused_gemm(call: Call) -> Result:
    names = ("activation_alpha", "activation_beta")
    given = [float(call.attributes[name]) for name in names if name in call.attributes]
    return _activated(call, gemm(call), given)


def _activated(call: Call, x: Tensor, numbers: Sequence[float]) -> Tensor:
    """Apply the node's activation, with its parameters or ONNX's defaults."""
    name = str(call.attribute("activation", ""))
    if name == "Clip" and len(numbers) == 2:
        return O.minimum(O.maximum(x, numbers[0]), numbers[1])
    return activation_of(name, numbers)(x) if name else x


@contributed("NhwcMaxPool", 1)
def max_pool_of_channels_last(call: Call) -> Result:
    return channels_last(max_pool(call.on(channels_first(call.tensor(0))))[0])

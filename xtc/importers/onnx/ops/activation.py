# SPDX-License-Identifier: Apache-2.0
"""Activations, composed of several operators if graphs lack them."""

from __future__ import annotations

import math

import numpy as np

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.onnx.call import Call
from xtc.importers.onnx.ops.reduction import log_softmax_of, softmax_of
from xtc.importers.onnx.table import reads


@reads("Elu", 6, 22)
def elu(call: Call) -> Tensor:
    x = call.tensor(0)
    return _negative(x, O.mul(_expm1(x), call.attribute("alpha", 1.0)))


@reads("Celu", 12, 28)
def celu(call: Call) -> Tensor:
    x, alpha = call.tensor(0), float(call.attribute("alpha", 1.0))
    return _negative(x, O.mul(_expm1(O.div(x, alpha)), alpha))


@reads("Selu", 6, 22)
def selu(call: Call) -> Tensor:
    x = call.tensor(0)
    alpha = call.attribute("alpha", 1.67326319217681884765625)
    gamma = call.attribute("gamma", 1.05070102214813232421875)
    return O.mul(_negative(x, O.mul(_expm1(x), alpha)), gamma)


def _expm1(x: Tensor) -> Tensor:
    """exp(x) - 1 for x <= 0; 0 for positive x."""
    return O.sub(O.exp(O.minimum(x, 0.0)), 1.0)


def _negative(x: Tensor, below: Tensor) -> Tensor:
    """x if it is positive, else `below`."""
    return O.where(O.greater(x, 0.0), x, below)


@reads("LeakyRelu", 6, 16)
def leaky_relu(call: Call) -> Tensor:
    return O.leaky_relu(call.tensor(0), slope=call.attribute("alpha", 0.01))


@reads("PRelu", 7, 9, 16)
def prelu(call: Call) -> Tensor:
    x, slope = call.tensor(0), call.tensor(1)
    return O.where(O.less(x, 0), O.mul(x, slope), x)


@reads("ThresholdedRelu", 10, 22)
def thresholded_relu(call: Call) -> Tensor:
    x = call.tensor(0)
    return O.where(O.greater(x, call.attribute("alpha", 1.0)), x, 0.0)


@reads("Gelu", 20)
def gelu(call: Call) -> Tensor:
    how = call.choice("approximate", "none", "none", "tanh")
    return O.gelu(call.tensor(0), approximate=how)


@reads("HardSigmoid", 6, 22)
def hard_sigmoid(call: Call) -> Tensor:
    alpha, beta = call.attribute("alpha", 0.2), call.attribute("beta", 0.5)
    return _hard_sigmoid(call.tensor(0), alpha, beta)


def _hard_sigmoid(x: Tensor, alpha: float, beta: float) -> Tensor:
    return O.minimum(O.maximum(O.add(O.mul(x, alpha), beta), 0.0), 1.0)


@reads("HardSwish", 14, 22)
def hard_swish(call: Call) -> Tensor:
    x = call.tensor(0)
    return O.mul(x, _hard_sigmoid(x, 1 / 6, 0.5))


@reads("Swish", 24)
def swish(call: Call) -> Tensor:
    x, alpha = call.tensor(0), float(call.attribute("alpha", 1.0))
    return O.silu(x) if alpha == 1 else O.mul(x, O.sigmoid(O.mul(x, alpha)))


@reads("Softplus", 1, 22)
def softplus(call: Call) -> Tensor:
    return softplus_of(call.tensor(0))


def softplus_of(x: Tensor) -> Tensor:
    """log(1 + exp(x)), without overflow for large x."""
    return O.add(O.maximum(x, 0.0), O.log(O.add(O.exp(O.neg(O.abs(x))), 1.0)))


@reads("Softsign", 1, 22)
def softsign(call: Call) -> Tensor:
    x = call.tensor(0)
    return O.div(x, O.add(O.abs(x), 1.0))


@reads("Mish", 18, 22)
def mish(call: Call) -> Tensor:
    x = call.tensor(0)
    return O.mul(x, O.tanh(softplus_of(x)))


@reads("Shrink", 9)
def shrink(call: Call) -> Tensor:
    x = call.tensor(0)
    limit, bias = call.attribute("lambd", 0.5), call.attribute("bias", 0.0)
    dtype = x.dtype
    wide = x if x.element.is_float else O.cast(x, "float32")
    above, below = O.greater(wide, limit), O.less(wide, -limit)
    result = O.where(below, O.add(wide, bias), O.where(above, O.sub(wide, bias), 0.0))
    return result if result.dtype == dtype else O.cast(result, dtype)


@reads("Softmax", 1, 11, 13)
def softmax(call: Call) -> Tensor:
    x, axes = _rows(call)
    return O.reshape(softmax_of(x, axes), call.shape())


@reads("LogSoftmax", 1, 11, 13)
def log_softmax(call: Call) -> Tensor:
    x, axis = _rows(call)
    return O.reshape(log_softmax_of(x, axis), call.shape())


def _rows(call: Call) -> tuple[Tensor, int]:
    """The operand and its axis to normalize; older versions flatten the axes from `axis` on."""
    x = call.tensor(0)
    axis = call.axis(default=-1 if call.version >= 13 else 1)
    if call.version >= 13:
        return x, axis
    sizes = call.shape()
    lead = math.prod(sizes[:axis])
    return O.reshape(x, (lead, math.prod(sizes[axis:]))), 1


@reads("Hardmax", 1, 11, 13)
def hardmax(call: Call) -> Tensor:
    x, axis = _rows(call)
    chosen = O.argmax(x, axis=axis, keepdims=True)
    size = x.type.sizes[axis]
    shape = [1] * x.type.rank
    shape[axis] = size
    numbers = O.tensor(tuple(shape), "int64", const=np.arange(size).reshape(shape))
    return O.reshape(O.cast(O.equal(numbers, chosen), x.dtype), call.shape())

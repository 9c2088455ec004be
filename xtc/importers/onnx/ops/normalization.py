# SPDX-License-Identifier: Apache-2.0
"""Batch, layer, instance and group normalization."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.onnx.call import Call
from xtc.importers.onnx.ops.reduction import mean_of
from xtc.importers.onnx.table import reads
from xtc.importers.onnx.types import element_name
from xtc.importers.values import Unsupported


def per_channel(x: Tensor, rank: int, axis: int = 1) -> Tensor:
    """Reshape a vector of channels to broadcast along the channels of a tensor."""
    shape = [1] * rank
    shape[axis] = x.type.size
    return O.reshape(x, tuple(shape))


@reads("BatchNormalization", 7, 9, 14, 15)
def batch_normalization(call: Call) -> list[Tensor | None]:
    x = call.tensor(0)
    scale, bias, mean, variance = (
        per_channel(call.tensor(n), x.type.rank) if x.type.rank > 1 else call.tensor(n)
        for n in range(1, 5)
    )
    if not call.attribute("training_mode", 0):
        return [_normalized(x, mean, variance, scale, bias, call.attribute("epsilon", 1e-5))]
    if x.type.rank < 2:
        raise Unsupported("training_mode of vectors")
    axes = (0, *range(2, x.type.rank))
    now = mean_of(x, axes, True)
    centered = O.sub(x, now)
    spread = mean_of(O.mul(centered, centered), axes, True)
    momentum = call.attribute("momentum", 0.9)
    running = [_moved(old, new, momentum) for old, new in ((mean, now), (variance, spread))]
    result = _normalized(x, now, spread, scale, bias, call.attribute("epsilon", 1e-5))
    return [result, *running]


def _moved(old: Tensor, new: Tensor, momentum: float) -> Tensor:
    mixed = O.add(O.mul(old, momentum), O.mul(new, 1 - momentum))
    return O.reshape(mixed, (mixed.type.size,))


def _normalized(
    x: Tensor, mean: Tensor, variance: Tensor, scale: Tensor, bias: Tensor, eps: float
) -> Tensor:
    """Apply one factor and one addend per channel, which fold to constants if the operands do."""
    if mean.dtype != x.dtype:
        mean, variance = O.cast(mean, x.dtype), O.cast(variance, x.dtype)
    if scale.dtype != x.dtype:
        scale, bias = O.cast(scale, x.dtype), O.cast(bias, x.dtype)
    factor = O.div(scale, O.sqrt(O.add(variance, eps)))
    return O.add(O.mul(x, factor), O.sub(bias, O.mul(mean, factor)))


@reads("LayerNormalization", 17)
def layer_normalization(call: Call) -> list[Tensor | None]:
    x, scale, bias = call.tensor(0), call.tensor(1), call.optional(2)
    axis, eps = call.axis(default=-1), call.attribute("epsilon", 1e-5)
    row = x.type.sizes[axis:]
    plain = scale.type.sizes == row and (bias is None or bias.type.sizes == row)
    if plain and not (call.is_used(1) or call.is_used(2)):
        return [O.layer_norm(x, scale, bias, axis=axis, eps=eps)]
    wide = _stash(call, x)
    mean, inverse, centered = _moments(wide, range(axis, x.type.rank), eps)
    result = _back(O.mul(centered, inverse), x)
    result = O.mul(result, scale)
    return [result if bias is None else O.add(result, bias), mean, inverse]


def _stash(call: Call, x: Tensor) -> Tensor:
    """The operand in the node's computation type."""
    dtype = element_name(call.attribute("stash_type", 1))
    return x if x.dtype == dtype else O.cast(x, dtype)


def _back(wide: Tensor, x: Tensor) -> Tensor:
    return wide if wide.dtype == x.dtype else O.cast(wide, x.dtype)


def _moments(x: Tensor, axes: Sequence[int], eps: float) -> tuple[Tensor, Tensor, Tensor]:
    """Mean, 1 / sqrt(variance + eps), and x without its mean."""
    mean = O.reduce_mean(x, axes=tuple(axes), keepdims=True)
    centered = O.sub(x, mean)
    variance = O.reduce_mean(O.mul(centered, centered), axes=tuple(axes), keepdims=True)
    return mean, O.div(1.0, O.sqrt(O.add(variance, eps))), centered


@reads("RMSNormalization", 23)
def rms_normalization(call: Call) -> Tensor:
    x, scale = call.tensor(0), call.tensor(1)
    axis, eps = call.axis(default=-1), call.attribute("epsilon", 1e-5)
    wide = _stash(call, x)
    axes = tuple(range(axis, x.type.rank))
    squares = O.reduce_mean(O.mul(wide, wide), axes=axes, keepdims=True)
    result = _back(O.div(wide, O.sqrt(O.add(squares, eps))), x)
    return O.mul(result, scale)


@reads("InstanceNormalization", 6, 22)
def instance_normalization(call: Call) -> Tensor:
    x = call.tensor(0)
    _, inverse, centered = _moments(x, range(2, x.type.rank), call.attribute("epsilon", 1e-5))
    scale, bias = (per_channel(call.tensor(n), x.type.rank) for n in (1, 2))
    return O.add(O.mul(O.mul(centered, inverse), scale), bias)


@reads("GroupNormalization", 21)
def group_normalization(call: Call) -> Tensor:
    x, groups, eps = (
        call.tensor(0),
        int(call.required("num_groups")),
        call.attribute("epsilon", 1e-5),
    )
    split = _groups(x, groups)
    wide = _stash(call, split)
    return _scaled(x, _back(_normal(wide, eps), x), call.tensor(1), call.tensor(2))


def grouped(x: Tensor, groups: int, scale: Tensor, bias: Tensor, eps: float) -> Tensor:
    """Group normalization of an image with channels in dimension 1, in float32."""
    split = _groups(x, groups)
    wide = split if split.dtype == "float32" else O.cast(split, "float32")
    return _scaled(x, _back(_normal(wide, eps), x), scale, bias)


def _groups(x: Tensor, groups: int) -> Tensor:
    n, channels, *rest = x.type.sizes
    if groups < 1 or channels % groups:
        raise Unsupported(f"{channels} channels in {groups} groups")
    return O.reshape(x, (n, groups, channels // groups * math.prod(rest)))


def _normal(x: Tensor, eps: float) -> Tensor:
    _, inverse, centered = _moments(x, (2,), eps)
    return O.mul(centered, inverse)


def _scaled(x: Tensor, normal: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
    rank = x.type.rank
    factor, summand = (
        per_channel(y if y.dtype == x.dtype else O.cast(y, x.dtype), rank) for y in (scale, bias)
    )
    return O.add(O.mul(O.reshape(normal, x.type.sizes), factor), summand)


@reads("MeanVarianceNormalization", 9, 13)
def mean_variance_normalization(call: Call) -> Tensor:
    x = call.tensor(0)
    axes = [int(axis) for axis in call.attribute("axes", (0, 2, 3))]
    mean = O.reduce_mean(x, axes=tuple(axes), keepdims=True)
    centered = O.sub(x, mean)
    spread = O.sqrt(O.reduce_mean(O.mul(centered, centered), axes=tuple(axes), keepdims=True))
    return O.div(centered, O.add(spread, 1e-9))


@reads("LRN", 1, 13)
def lrn(call: Call) -> Tensor:
    x, size = call.tensor(0), int(call.required("size"))
    channels = x.type.sizes[1]
    squares = O.mul(x, x)
    before, after = (size - 1) // 2, size // 2
    # The sum over adjacent channels is a matmul with a band matrix of ones.
    rows = np.arange(channels)
    apart = rows[None, :] - rows[:, None]
    band = ((apart >= -before) & (apart <= after)).astype(x.element.numpy)
    flat = O.reshape(squares, (x.type.sizes[0], channels, -1))
    total = O.matmul(O.tensor(band.shape, x.dtype, const=band), flat)
    total = O.reshape(total, x.type.sizes)
    alpha, beta = call.attribute("alpha", 1e-4), call.attribute("beta", 0.75)
    scale = O.add(O.mul(total, alpha / size), call.attribute("bias", 1.0))
    return O.div(x, O.pow(scale, beta))

# SPDX-License-Identifier: Apache-2.0
"""Batch, layer and group normalization."""

from __future__ import annotations

from collections.abc import Sequence

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.torch.ops.arithmetic import operand
from xtc.importers.torch.table import writes


@writes("_native_batch_norm_legit_no_training")
def batch_norm(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mean: Tensor,
    variance: Tensor,
    momentum: float,
    eps: float,
) -> tuple[Tensor, None, None]:
    factor = O.rsqrt(O.add(variance, eps))
    factor = factor if weight is None else O.mul(factor, weight)
    shift = O.neg(O.mul(mean, factor))
    shift = shift if bias is None else O.add(shift, bias)
    wide = operand(x, factor.dtype)  # parameters may have a wider type than the data
    result = O.add(O.mul(wide, _by_channel(factor, x)), _by_channel(shift, x))
    return operand(result, x.dtype), None, None


@writes("_native_batch_norm_legit.no_stats")
def batch_norm_of_batch(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """The result, the means, and the reciprocal standard deviations."""
    result, mean, _, scale = _of_batch(x, weight, bias, eps)
    return result, mean, scale


@writes("_native_batch_norm_legit_functional")
def batch_norm_in_training(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_variance: Tensor,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """The results of `batch_norm_of_batch`, then the updated running means and variances."""
    result, mean, variance, scale = _of_batch(x, weight, bias, eps)
    count = x.type.size // mean.type.size
    unbiased = O.mul(variance, count / max(count - 1, 1))
    means = _blended(running_mean, mean, momentum)
    return result, mean, scale, means, _blended(running_variance, unbiased, momentum)


def _of_batch(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The result and, per channel, mean, variance and reciprocal standard deviation."""
    axes = tuple(d for d in range(x.type.rank) if d != 1)
    wide = operand(x, "float32") if x.element.bits < 32 else x
    mean = O.reduce_mean(wide, axes=axes, keepdims=True)
    centered = O.sub(wide, mean)
    variance = O.reduce_mean(O.mul(centered, centered), axes=axes, keepdims=True)
    scale = O.rsqrt(O.add(variance, eps))
    result = O.mul(centered, scale)
    if weight is not None:
        result = O.mul(result, _by_channel(operand(weight, wide.dtype), x))
    if bias is not None:
        result = O.add(result, _by_channel(operand(bias, wide.dtype), x))
    flat = [O.reshape(value, (x.type.sizes[1],)) for value in (mean, variance, scale)]
    return operand(result, x.dtype), flat[0], flat[1], flat[2]


def _blended(old: Tensor, new: Tensor, momentum: float) -> Tensor:
    return O.add(O.mul(old, 1 - momentum), O.mul(operand(new, old.dtype), momentum))


def _by_channel(value: Tensor, x: Tensor) -> Tensor:
    """Reshape one number per channel to broadcast over (batch, channels, ...)."""
    return O.reshape(value, (1, x.type.sizes[1], *[1] * (x.type.rank - 2)))


@writes("native_layer_norm")
def layer_norm(
    x: Tensor, shape: Sequence[int], weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    axis = x.type.rank - len(shape)
    axes = tuple(range(axis, x.type.rank))
    # Mean and scale are for the backward pass; unused ones are removed.
    mean = O.reduce_mean(x, axes=axes, keepdims=True)
    centered = O.sub(x, mean)
    variance = O.reduce_mean(O.mul(centered, centered), axes=axes, keepdims=True)
    scale = O.rsqrt(O.add(variance, eps))
    return O.layer_norm(x, weight, bias, axis=axis, eps=eps), mean, scale


@writes("native_group_norm")
def group_norm(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    n: int,
    channels: int,
    _size: int,
    groups: int,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    split = O.reshape(x, (n, groups, -1))
    mean = O.reduce_mean(split, axes=(2,), keepdims=True)
    centered = O.sub(split, mean)
    variance = O.reduce_mean(O.mul(centered, centered), axes=(2,), keepdims=True)
    scale = O.rsqrt(O.add(variance, eps))
    result = O.reshape(O.mul(centered, scale), x.type.sizes)
    shape = (1, channels, *[1] * (x.type.rank - 2))
    if weight is not None:
        result = O.mul(result, O.reshape(weight, shape))
    if bias is not None:
        result = O.add(result, O.reshape(bias, shape))
    return result, O.reshape(mean, (n, groups)), O.reshape(scale, (n, groups))

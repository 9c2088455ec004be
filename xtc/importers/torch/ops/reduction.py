# SPDX-License-Identifier: Apache-2.0
"""Reductions, positions of extrema, cumulative sums."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.torch.ops.arithmetic import operand, result_type
from xtc.importers.torch.table import writes


def axes_of(x: Tensor, dim: Any) -> tuple[int, ...]:
    """An operator's dimensions, non-negative; all of them if it names none."""
    rank = x.type.rank
    given = [dim] if isinstance(dim, int) else list(dim or [])
    return tuple(sorted(d % rank for d in given)) if given and rank else tuple(range(rank))


@writes("sum.dim_IntList", "sum")
def sum_(x: Tensor, dim: Any = None, keepdim: bool = False, **_: Any) -> Tensor:
    total = O.reduce_sum(operand(x, result_type()), axes=axes_of(x, dim), keepdims=keepdim)
    return operand(total, result_type())


@writes("_trilinear")
def trilinear(
    a: Tensor,
    b: Tensor,
    c: Tensor,
    expand_a: Sequence[int],
    expand_b: Sequence[int],
    expand_c: Sequence[int],
    dims: Sequence[int],
    unroll_dim: int = 1,
) -> Tensor:
    """The product of three tensors with dimensions of 1 inserted, summed over some dimensions."""
    shaped = []
    for x, places in ((a, expand_a), (b, expand_b), (c, expand_c)):
        shape = list(x.type.sizes)
        for place in sorted(places):
            shape.insert(place, 1)
        shaped.append(O.reshape(x, tuple(shape)))
    product = O.mul(O.mul(shaped[0], shaped[2]), shaped[1])
    return O.reduce_sum(product, axes=axes_of(product, dims))


@writes("mean.dim", "mean")
def mean(x: Tensor, dim: Any = None, keepdim: bool = False, **_: Any) -> Tensor:
    return O.reduce_mean(operand(x, result_type()), axes=axes_of(x, dim), keepdims=keepdim)


@writes("amax")
def amax(x: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
    return O.reduce_max(x, axes=axes_of(x, dim), keepdims=keepdim)


@writes("amin")
def amin(x: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
    return O.reduce_min(x, axes=axes_of(x, dim), keepdims=keepdim)


@writes("max")
def largest(x: Tensor) -> Tensor:
    return O.reduce_max(x)


@writes("min")
def least(x: Tensor) -> Tensor:
    return O.reduce_min(x)


@writes("linalg_vector_norm")
def vector_norm(
    x: Tensor, order: float = 2, dim: Any = None, keepdim: bool = False, **_: Any
) -> Tensor:
    value, axes = operand(x, result_type()), axes_of(x, dim)
    size = O.abs(value)
    if math.isinf(order):
        extreme = O.reduce_max if order > 0 else O.reduce_min
        return extreme(size, axes=axes, keepdims=keepdim)
    if order == 0:
        counted = operand(O.not_equal(value, 0.0), value.dtype)
        return O.reduce_sum(counted, axes=axes, keepdims=keepdim)
    if order == 1:
        return O.reduce_sum(size, axes=axes, keepdims=keepdim)
    if order == 2:
        return O.sqrt(O.reduce_sum(O.mul(value, value), axes=axes, keepdims=keepdim))
    total = O.reduce_sum(O.pow(size, float(order)), axes=axes, keepdims=keepdim)
    return O.pow(total, 1 / order)


@writes("max.dim")
def max_dim(x: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    axes = axes_of(x, dim)
    return O.reduce_max(x, axes=axes, keepdims=keepdim), O.argmax(x, axis=axes[0], keepdims=keepdim)


@writes("min.dim")
def min_dim(x: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    axes = axes_of(x, dim)
    return O.reduce_min(x, axes=axes, keepdims=keepdim), O.argmin(x, axis=axes[0], keepdims=keepdim)


@writes("prod.dim_int", "prod")
def prod(x: Tensor, dim: Any = None, keepdim: bool = False, **_: Any) -> Tensor:
    return O.reduce_prod(operand(x, result_type()), axes=axes_of(x, dim), keepdims=keepdim)


@writes("any", "any.dim", "any.dims")
def any_(x: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    return O.reduce_max(operand(x, "bool"), axes=axes_of(x, dim), keepdims=keepdim)


@writes("all", "all.dim", "all.dims")
def all_(x: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    return O.reduce_min(operand(x, "bool"), axes=axes_of(x, dim), keepdims=keepdim)


@writes("argmax")
def argmax(x: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    return _position(O.argmax, x, dim, keepdim)


@writes("argmin")
def argmin(x: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    return _position(O.argmin, x, dim, keepdim)


def _position(write: Callable[..., Tensor], x: Tensor, dim: int | None, keepdim: bool) -> Tensor:
    if dim is None:
        return write(O.reshape(x, (x.type.size,)), axis=0)
    return write(x, axis=dim, keepdims=keepdim)


@writes("var.correction", "var.dim")
def var(x: Tensor, dim: Any = None, *, correction: float = 1, keepdim: bool = False) -> Tensor:
    axes = axes_of(x, dim)
    count = math.prod(x.type.sizes[axis] for axis in axes)
    centered = O.sub(x, O.reduce_mean(x, axes=axes, keepdims=True))
    squares = O.reduce_sum(O.mul(centered, centered), axes=axes, keepdims=keepdim)
    return O.div(squares, float(max(count - correction, 0)))


@writes("var_mean.correction")
def var_mean(
    x: Tensor, dim: Any = None, *, correction: float = 1, keepdim: bool = False
) -> tuple[Tensor, Tensor]:
    mean_ = O.reduce_mean(x, axes=axes_of(x, dim), keepdims=keepdim)
    return var(x, dim, correction=correction, keepdim=keepdim), mean_


@writes("cumsum")
def cumsum(x: Tensor, dim: int, **_: Any) -> Tensor:
    return O.cumsum(operand(x, result_type()), axis=dim)


@writes("_softmax")
def softmax(x: Tensor, dim: int, half_to_float: bool = False) -> Tensor:
    return O.softmax(operand(x, result_type()), axis=dim)


@writes("_log_softmax")
def log_softmax(x: Tensor, dim: int, half_to_float: bool = False) -> Tensor:
    axes = axes_of(x, dim)
    centered = O.sub(x, O.reduce_max(x, axes=axes, keepdims=True))
    return O.sub(centered, O.log(O.reduce_sum(O.exp(centered), axes=axes, keepdims=True)))


@writes("logsumexp")
def logsumexp(x: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    axes = axes_of(x, dim)
    largest = O.reduce_max(x, axes=axes, keepdims=True)
    total = O.reduce_sum(O.exp(O.sub(x, largest)), axes=axes, keepdims=True)
    result = O.add(O.log(total), largest)
    return result if keepdim else O.reshape(result, without(x, axes))


def without(x: Tensor, axes: Sequence[int]) -> tuple[int, ...]:
    """The shape of a tensor without some dimensions."""
    return tuple(size for d, size in enumerate(x.type.sizes) if d not in axes)

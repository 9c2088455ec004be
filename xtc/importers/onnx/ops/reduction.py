# SPDX-License-Identifier: Apache-2.0
"""Reductions along axes, and operators built on them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.onnx.call import Call, whole_axis
from xtc.importers.onnx.table import Writer, reads
from xtc.importers.values import Unsupported

Reduce = Callable[[Tensor, tuple[int, ...], bool], Tensor]


def sum_of(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    """The sum in the operand's element type, with wraparound."""
    total = O.reduce_sum(x, axes=axes, keepdims=keepdims)
    return total if total.dtype == x.dtype else O.cast(total, x.dtype)


def mean_of(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    """The mean; truncated for integers."""
    if x.element.is_float:
        return O.reduce_mean(x, axes=axes, keepdims=keepdims)
    count = int(np.prod([x.type.sizes[axis] for axis in axes]))
    total = O.reduce_sum(x, axes=axes, keepdims=keepdims)
    return O.cast(O.trunc_div(total, count), x.dtype)


def _max(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    return O.reduce_max(x, axes=axes, keepdims=keepdims)


def _min(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    return O.reduce_min(x, axes=axes, keepdims=keepdims)


def _prod(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    return O.reduce_prod(x, axes=axes, keepdims=keepdims)


def _l1(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    return sum_of(O.abs(x), axes, keepdims)


def _sum_square(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    return sum_of(O.mul(x, x), axes, keepdims)


def _l2(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    wide = x if x.element.is_float else O.cast(x, "float64")
    root = O.sqrt(_sum_square(wide, axes, keepdims))
    return root if root.dtype == x.dtype else O.cast(root, x.dtype)


def _log_sum(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    return O.log(sum_of(_floats(x), axes, keepdims))


def _floats(x: Tensor) -> Tensor:
    if not x.element.is_float:
        raise Unsupported(f"a logarithm of {x.dtype}")
    return x


def _log_sum_exp(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    """Stable log-sum-exp: subtracts the maximum, or 0 if the maximum is infinite."""
    largest = O.reduce_max(_floats(x), axes=axes, keepdims=True)
    finite = O.where(O.is_inf(largest), 0.0, largest)
    total = sum_of(O.exp(O.sub(x, finite)), axes, True)
    result = O.add(O.log(total), finite)
    return result if keepdims else O.reshape(result, _without(x, axes))


def _without(x: Tensor, axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(size for axis, size in enumerate(x.type.sizes) if axis not in axes)


# The last field is the first version with the axes as an operand.
REDUCTIONS: dict[str, tuple[Reduce, tuple[int, ...], int]] = {
    "ReduceL1": (_l1, (1, 11, 13, 18), 18),
    "ReduceL2": (_l2, (1, 11, 13, 18), 18),
    "ReduceLogSum": (_log_sum, (1, 11, 13, 18, 28), 18),
    "ReduceLogSumExp": (_log_sum_exp, (1, 11, 13, 18, 28), 18),
    "ReduceMax": (_max, (1, 11, 12, 13, 18, 20), 18),
    "ReduceMean": (mean_of, (1, 11, 13, 18), 18),
    "ReduceMin": (_min, (1, 11, 12, 13, 18, 20), 18),
    "ReduceProd": (_prod, (1, 11, 13, 18), 18),
    "ReduceSum": (sum_of, (1, 11, 13), 13),
    "ReduceSumSquare": (_sum_square, (1, 11, 13, 18), 18),
}


def _reduction(call: Call, write: Reduce, operand_from: int) -> Tensor:
    x, keepdims = call.tensor(0), bool(call.attribute("keepdims", 1))
    if call.version >= operand_from:
        axes = call.ints(1) if call.has(1) else []
    else:
        axes = [int(axis) for axis in call.attribute("axes", [])]
    if not axes and call.attribute("noop_with_empty_axes", 0):
        return write(O.reshape(x, (1, *x.shape)), (0,), False)
    rank = x.type.rank
    chosen = sorted({whole_axis(axis, rank) for axis in axes}) or range(rank)
    if not rank:
        return O.reshape(write(O.reshape(x, (1,)), (0,), False), ())
    return write(x, tuple(chosen), keepdims)


def _writer(write: Reduce, operand_from: int) -> Writer:
    return lambda call: _reduction(call, write, operand_from)


for _name, (_write, _versions, _operand_from) in REDUCTIONS.items():
    reads(_name, *_versions)(_writer(_write, _operand_from))


def softmax_of(x: Tensor, axis: int) -> Tensor:
    """Softmax along one axis; 16-bit floats follow the schema's steps, rounding each."""
    if x.dtype in ("float32", "float64"):
        return O.softmax(x, axis=axis)
    powers = O.exp(O.sub(x, O.reduce_max(x, axes=(axis,), keepdims=True)))
    return O.div(powers, O.reduce_sum(powers, axes=(axis,), keepdims=True))


def log_softmax_of(x: Tensor, axis: int) -> Tensor:
    """x - log(sum(exp(x))) along one axis."""
    centered = O.sub(x, O.reduce_max(x, axes=(axis,), keepdims=True))
    total = O.reduce_sum(O.exp(centered), axes=(axis,), keepdims=True)
    return O.sub(centered, O.log(total))


@reads("ArgMax", 1, 11, 12, 13)
def argmax(call: Call) -> Tensor:
    return _arg(call, O.argmax)


@reads("ArgMin", 1, 11, 12, 13)
def argmin(call: Call) -> Tensor:
    return _arg(call, O.argmin)


def _arg(call: Call, write: Callable[..., Tensor]) -> Tensor:
    keepdims, last = (
        bool(call.attribute("keepdims", 1)),
        bool(call.attribute("select_last_index", 0)),
    )
    return write(call.tensor(0), axis=call.axis(default=0), keepdims=keepdims, last=last)


@reads("CumSum", 11, 14)
def cumsum(call: Call) -> Tensor:
    return _cumulative(call, O.cumsum)


@reads("CumProd", 26)
def cumprod(call: Call) -> Tensor:
    return _cumulative(call, O.cumprod)


def _cumulative(call: Call, write: Callable[..., Tensor]) -> Tensor:
    (axis,) = call.ints(1)
    return write(
        call.tensor(0),
        axis=axis,
        exclusive=bool(call.attribute("exclusive", 0)),
        reverse=bool(call.attribute("reverse", 0)),
    )


@reads("LpNormalization", 1, 22)
def lp_normalization(call: Call) -> Tensor:
    x, axis, p = call.tensor(0), call.axis(default=-1), call.attribute("p", 2)
    if p not in (1, 2):
        raise Unsupported(f"p={p}")
    norm = (_l1 if p == 1 else _l2)(x, (axis,), True)
    return O.where(O.equal(norm, 0.0), 0.0, O.div(x, norm))

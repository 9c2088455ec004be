# SPDX-License-Identifier: Apache-2.0
"""Reductions along axes."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.tflite.call import Call
from xtc.importers.tflite.table import reads
from xtc.importers.values import Unsupported


def _axes(call: Call, rank: int) -> tuple[int, ...]:
    axes = call.ints(1)
    if any(not -rank <= axis < rank for axis in axes):
        raise Unsupported(f"axes {axes} of rank {rank}")
    return tuple(sorted({axis % rank for axis in axes}))


@reads("MEAN")
def mean(call: Call) -> Tensor:
    x, keep = call.tensor(0), bool(call.options("ReducerOptions").KeepDims())
    axes = _axes(call, x.type.rank)
    if not call.quantized:
        return O.reduce_mean(x, axes=axes, keepdims=keep)
    scales = call.scale(0), call.result_scale
    return O.quantized_mean(x, axes=axes, quantizations=scales, keepdims=keep)


@reads("ARG_MAX", "ARG_MIN")
def arg_max(call: Call) -> Tensor:
    x, (axis,) = call.tensor(0), _axes(call, call.tensor(0).type.rank)
    write = O.argmax if call.operator.name == "ARG_MAX" else O.argmin
    found = write(x, axis=axis)
    dtype = call.results[0].dtype
    return found if found.dtype == dtype else O.cast(found, dtype)


@reads("SUM")
def sum(call: Call) -> Tensor:
    x, keep = call.tensor(0), bool(call.options("ReducerOptions").KeepDims())
    axes = _axes(call, x.type.rank)
    if not call.quantized:
        return O.reduce_sum(x, axes=axes, keepdims=keep)
    q, y = call.scale(0), call.result_scale
    count = math.prod(x.type.sizes[axis] for axis in axes)
    total = O.reduce_sum(O.cast(x, "int32"), axes=axes, keepdims=keep)
    factor = float(np.float32(q.scale) / np.float32(y.scale))
    steps = O.sub(total, q.zero_point * count)
    return O.requantize(steps, factor, zero_point=y.zero_point, rounding="single")


def _extremum(name: str, write: Callable[..., Tensor]) -> None:
    @reads(name)
    def read(call: Call) -> Tensor:
        x, keep = call.tensor(0), bool(call.options("ReducerOptions").KeepDims())
        if x.dtype == "int8" and call.scale(0) != call.result_scale:
            raise Unsupported("operand and result of different scales")
        return write(x, axes=_axes(call, x.type.rank), keepdims=keep)


_extremum("REDUCE_MAX", O.reduce_max)
_extremum("REDUCE_MIN", O.reduce_min)


@reads("REDUCE_PROD")
def reduce_prod(call: Call) -> Tensor:
    x, keep = call.tensor(0), bool(call.options("ReducerOptions").KeepDims())
    if x.dtype == "int8":
        raise Unsupported("int8")
    return O.reduce_prod(x, axes=_axes(call, x.type.rank), keepdims=keep)


@reads("L2_NORMALIZATION")
def l2_normalization(call: Call) -> Tensor:
    x = call.tensor(0)
    if call.quantized:
        raise Unsupported("int8")
    squares = O.reduce_sum(O.mul(x, x), axes=(-1,), keepdims=True)
    return O.div(x, O.sqrt(O.maximum(squares, 1e-6)))


def _of_truths(name: str, write: Callable[..., Tensor]) -> None:
    @reads(name)
    def read(call: Call) -> Tensor:
        x, keep = call.tensor(0), bool(call.options("ReducerOptions").KeepDims())
        steps = O.cast(x, "int8")
        return O.cast(write(steps, axes=_axes(call, x.type.rank), keepdims=keep), "bool")


_of_truths("REDUCE_ANY", O.reduce_max)
_of_truths("REDUCE_ALL", O.reduce_min)

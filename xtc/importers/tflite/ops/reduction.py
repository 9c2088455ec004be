# SPDX-License-Identifier: Apache-2.0
"""Reductions along dimensions."""

from __future__ import annotations

import math

import numpy as np

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.tflite.call import Call
from xtc.importers.tflite.table import reads
from xtc.importers.values import Unsupported
from xtc.ops.requantize import Requantize, by_parts, fixed_point


def _axes(call: Call, rank: int) -> tuple[int, ...]:
    axes = call.ints(1)
    if any(not -rank <= axis < rank for axis in axes):
        raise Unsupported(f"axes {axes} of rank {rank}")
    return tuple(sorted({axis % rank for axis in axes}))


@reads("MEAN")
def mean(call: Call) -> Tensor:
    x, keep = call.tensor(0), bool(call.options("ReducerOptions").KeepDims())
    axes = _axes(call, x.type.rank)
    if not call.quantised:
        return O.reduce_mean(x, axes=axes, keepdims=keep)
    q, y = call.scale(0), call.result_scale
    count = math.prod(x.type.sizes[axis] for axis in axes)
    total = O.reduce_sum(O.cast(x, "int32"), axes=axes, keepdims=keep)
    steps = O.sub(total, q.zero_point * count) if q.zero_point else total
    return _divided(steps, count, q.scale / y.scale, y.zero_point)


def _divided(total: Tensor, count: int, scale: float, zero_point: int) -> Tensor:
    """total * scale / count, where the multiplier is divided (QuantizedMeanOrSum in reduce.h)."""
    multiplier, left, right = fixed_point(scale)
    shift = min(count.bit_length() - 1, 32, 31 + left - right)
    multiplier = (multiplier << shift) // count
    exponent = left - right - shift
    parts = [multiplier, max(exponent, 0), max(-exponent, 0)]
    op = Requantize(zero_point=zero_point, divides=exponent < 0)
    return by_parts(op, total, np.array(parts, np.int32))


@reads("SUM")
def sum(call: Call) -> Tensor:
    x, keep = call.tensor(0), bool(call.options("ReducerOptions").KeepDims())
    if call.quantised:
        raise Unsupported("int8")
    return O.reduce_sum(x, axes=_axes(call, x.type.rank), keepdims=keep)


@reads("REDUCE_MAX")
def reduce_max(call: Call) -> Tensor:
    x, keep = call.tensor(0), bool(call.options("ReducerOptions").KeepDims())
    if call.quantised and call.scale(0) != call.result_scale:
        raise Unsupported("operand and result of different scales")
    return O.reduce_max(x, axes=_axes(call, x.type.rank), keepdims=keep)

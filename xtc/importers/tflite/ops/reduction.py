# SPDX-License-Identifier: Apache-2.0
"""Reductions along dimensions."""

from __future__ import annotations

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
    if not call.quantised:
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
    if call.quantised:
        raise Unsupported("int8")
    return O.reduce_sum(x, axes=_axes(call, x.type.rank), keepdims=keep)


@reads("REDUCE_MAX")
def reduce_max(call: Call) -> Tensor:
    x, keep = call.tensor(0), bool(call.options("ReducerOptions").KeepDims())
    if call.quantised and call.scale(0) != call.result_scale:
        raise Unsupported("operand and result of different scales")
    return O.reduce_max(x, axes=_axes(call, x.type.rank), keepdims=keep)

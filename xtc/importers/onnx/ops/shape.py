# SPDX-License-Identifier: Apache-2.0
"""Values that follow from shapes: sizes, ranges, constants."""

from __future__ import annotations

import numpy as np

import xtc.ops as O
from xtc.core.types import ELEMENT_TYPES
from xtc.graph.tensor import Tensor
from xtc.importers.onnx.call import Call
from xtc.importers.onnx.table import reads
from xtc.importers.onnx.types import element_name
from xtc.importers.values import Array, Unsupported, Value

LARGEST = 1 << 28  # elements of a constant


@reads("Shape", 1, 13, 15, 19, 21, 23, 24, 25, folds=False)
def shape(call: Call) -> Array:
    start, end = call.attribute("start", 0), call.attribute("end")
    return np.array(call.shape()[start:end], np.int64)


@reads("Size", 1, 13, 19, 21, 23, 24, 25, folds=False)
def size(call: Call) -> Array:
    return np.array(np.prod(call.shape(), dtype=np.int64), np.int64)


@reads("Constant", 1, 9, 11, 12, 13, 19, 21, 23, 24, 25, folds=False)
def constant(call: Call) -> Array:
    given = {name: value for name, value in call.attributes.items() if name.startswith("value")}
    types = {"value_float": np.float32, "value_floats": np.float32, "value_int": np.int64}
    types["value_ints"] = np.int64
    for name, value in given.items():
        if name == "value":
            return np.asarray(value)
        if name in types:
            return np.array(value, types[name])
    raise Unsupported(", ".join(call.attributes))


@reads("ConstantOfShape", 9, 20, 21, 23, 24, 25, folds=False)
def constant_of_shape(call: Call) -> Array:
    value = np.asarray(call.attribute("value", np.zeros(1, np.float32)))
    return _full(call.ints(0), value.reshape(-1)[0])


def _full(sizes: list[int], value: np.generic) -> Array:
    if any(size < 0 for size in sizes) or np.prod(sizes, dtype=np.float64) > LARGEST:
        raise Unsupported(f"a constant of shape {tuple(sizes)}")
    return np.full(sizes, value)


@reads("Range", 11, 27, folds=False)
def range_(call: Call) -> Array:
    start, limit, delta = (call.static(position).reshape(-1)[0] for position in range(3))
    if delta == 0 or abs((float(limit) - float(start)) / float(delta)) > LARGEST:
        raise Unsupported(f"a range from {start} to {limit} in steps of {delta}")
    count = max(int(np.ceil((float(limit) - float(start)) / float(delta))), 0)
    steps = np.arange(count)
    result: Array = (start + steps * delta).astype(start.dtype)
    return result


@reads("EyeLike", 9, 22, folds=False)
def eye_like(call: Call) -> Array:
    sizes = call.shape()
    dtype = element_name(call.attributes["dtype"]) if "dtype" in call.attributes else call.dtype()
    if len(sizes) != 2:
        raise Unsupported(f"an operand of rank {len(sizes)}")
    return np.eye(*sizes, int(call.attribute("k", 0))).astype(ELEMENT_TYPES[dtype].numpy)


@reads("Identity", 1, 13, 14, 16, 19, 21, 23, 24, 25, folds=False)
def identity(call: Call) -> Value:
    return call.value(0)


@reads("Reshape", 5, 13, 14, 19, 21, 23, 24, 25)
def reshape(call: Call) -> Tensor:
    sizes = call.ints(1)
    if not call.attribute("allowzero", 0):
        known = call.shape()
        sizes = [known[d] if size == 0 and d < len(known) else size for d, size in enumerate(sizes)]
    return O.reshape(call.tensor(0), tuple(sizes))


@reads("Flatten", 1, 9, 11, 13, 21, 23, 24, 25)
def flatten(call: Call) -> Tensor:
    sizes, axis = call.shape(), int(call.attribute("axis", 1))
    if not -len(sizes) <= axis <= len(sizes):
        raise Unsupported(f"axis {axis} of an operand of rank {len(sizes)}")
    lead = int(np.prod(sizes[:axis], dtype=np.int64))
    return O.reshape(call.tensor(0), (lead, -1))


@reads("Squeeze", 1, 11, 13, 21, 23, 24, 25)
def squeeze(call: Call) -> Tensor:
    sizes = call.shape()
    given = call.axes_and_sizes("axes", 1)
    if given is None:
        axes = {d for d, size in enumerate(sizes) if size == 1}
    else:
        axes = {axis + len(sizes) if axis < 0 else axis for axis in given}
        wrong = [axis for axis in axes if axis >= len(sizes) or axis < 0 or sizes[axis] != 1]
        if wrong:
            raise Unsupported(f"axis {wrong[0]} of shape {sizes}")
    kept = tuple(size for d, size in enumerate(sizes) if d not in axes)
    return O.reshape(call.tensor(0), kept)


@reads("Unsqueeze", 1, 11, 13, 21, 23, 24, 25)
def unsqueeze(call: Call) -> Tensor:
    given = call.axes_and_sizes("axes", 1)
    if given is None:
        raise Unsupported("axes are missing")
    rank = call.rank() + len(given)
    axes = {axis % rank for axis in given if -rank <= axis < rank}
    if len(axes) != len(given):
        raise Unsupported(f"axes {given} of a result of rank {rank}")
    sizes = iter(call.shape())
    return O.reshape(call.tensor(0), tuple(1 if d in axes else next(sizes) for d in range(rank)))

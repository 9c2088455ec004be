# SPDX-License-Identifier: Apache-2.0
"""Data movement: slices, gathers, scatters, padding."""

from __future__ import annotations

import numpy as np

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.movement import (
    constant,
    expanded,
    padded,
    part,
    same,
    starts_of,
    taken,
)
from xtc.importers.onnx.call import Call, whole_axis
from xtc.importers.onnx.table import reads
from xtc.importers.values import Unsupported, Value, as_tensor


@reads("Transpose", 1, 13, 21, 23, 24, 25)
def transpose(call: Call) -> Tensor:
    x = call.tensor(0)
    axes = call.attribute("perm", list(reversed(range(x.type.rank))))
    return O.transpose(x, axes=tuple(int(axis) for axis in axes))


@reads("Concat", 4, 11, 13)
def concat(call: Call) -> Value:
    axis = call.axis(rank=call.rank())
    kept = [call.value(n) for n in range(len(call.inputs)) if 0 not in call.shape(n)]
    if not kept:
        raise Unsupported("operands without elements")
    tensors = [call.tensor(n) for n in range(len(call.inputs)) if 0 not in call.shape(n)]
    return O.concat(*tensors, axis=axis) if len(tensors) > 1 else same(tensors[0])


@reads("Split", 1, 2, 11, 13, 18)
def split(call: Call) -> list[Value]:
    axis = call.axis(default=0)
    size, count = call.shape()[axis], call.outputs()
    if call.has(1):
        sizes = call.ints(1)
    elif "split" in call.attributes:
        sizes = [int(part) for part in call.attributes["split"]]
    else:
        count = int(call.attribute("num_outputs", count))
        each = -(-size // count)
        sizes = [min(each, size - start) for start in range(0, size, each)]
    if sum(sizes) != size or len(sizes) != call.outputs():
        raise Unsupported(f"parts of {sizes} of dimension {axis}, which has size {size}")
    return [
        _part(call, axis, start, part) for start, part in zip(starts_of(sizes), sizes, strict=True)
    ]


def _part(call: Call, axis: int, start: int, size: int) -> Value:
    x = call.tensor(0)
    if size == 0:
        shape = [0 if d == axis else n for d, n in enumerate(x.type.sizes)]
        return np.empty(shape, x.element.numpy)
    return part(x, axis, start, start + size)


@reads("Slice", 1, 10, 11, 13)
def slice_(call: Call) -> Value:
    x, sizes = call.tensor(0), call.shape()
    starts = call.axes_and_sizes("starts", 1) or []
    stops = call.axes_and_sizes("ends", 2) or []
    axes = call.axes_and_sizes("axes", 3)
    axes = list(range(len(starts))) if axes is None else axes
    steps = call.ints(4) if call.has(4) else [1] * len(starts)
    if 0 in steps or not len(starts) == len(stops) == len(axes) == len(steps):
        raise Unsupported(f"starts {starts}, ends {stops}, axes {axes}, steps {steps}")
    chosen = [range(size) for size in sizes]
    for axis, start, stop, step in zip(axes, starts, stops, steps, strict=True):
        d = whole_axis(axis, len(sizes))
        chosen[d] = range(*slice(start, stop, step).indices(sizes[d]))
    return taken(x, chosen)


@reads("Expand", 8, 13)
def expand(call: Call) -> Tensor:
    x = call.tensor(0)
    shape = np.broadcast_shapes(x.type.sizes, tuple(call.ints(1)))
    return expanded(x, shape)


@reads("Tile", 6, 13)
def tile(call: Call) -> Tensor:
    return O.tile(call.tensor(0), tuple(call.ints(1)))


@reads("Gather", 1, 11, 13)
def gather(call: Call) -> Tensor:
    return O.gather(call.tensor(0), call.tensor(1), axis=call.axis(default=0))


@reads("GatherElements", 11, 13)
def gather_elements(call: Call) -> Tensor:
    return O.gather_elements(call.tensor(0), call.tensor(1), axis=call.axis(default=0))


@reads("GatherND", 11, 12, 13)
def gather_nd(call: Call) -> Tensor:
    return O.gather_nd(call.tensor(0), call.tensor(1), batch=int(call.attribute("batch_dims", 0)))


@reads("Scatter", 9)
@reads("ScatterElements", 11, 13, 16, 18)
def scatter_elements(call: Call) -> Tensor:
    how = call.choice("reduction", "none", "none", "add", "mul", "max", "min")
    x, indices, updates = call.tensor(0), call.tensor(1), call.tensor(2)
    return O.scatter_elements(x, indices, updates, axis=call.axis(default=0), reduction=how)


@reads("ScatterND", 11, 13, 16, 18)
def scatter_nd(call: Call) -> Tensor:
    how = call.choice("reduction", "none", "none", "add", "mul", "max", "min")
    return O.scatter_nd(call.tensor(0), call.tensor(1), call.tensor(2), reduction=how)


@reads("TensorScatter", 24)
def tensor_scatter(call: Call) -> Tensor:
    x, update = call.tensor(0), call.tensor(1)
    axis, circular = call.axis(default=-2), call.choice("mode", "linear", "linear", "circular")
    if axis == 0:
        raise Unsupported("axis 0, which is the batch")
    batch, size, count = x.type.sizes[0], x.type.sizes[axis], update.type.sizes[axis]
    start = call.optional(2)
    if start is None:
        start = O.tensor((batch,), "int64", const=np.zeros(batch, np.int64))
    steps = O.tensor((1, count), "int64", const=np.arange(count)[None])
    where = O.add(O.reshape(O.cast(start, "int64"), (batch, 1)), steps)
    if circular == "circular":
        where = O.remainder(where, size)
    shape = [1] * x.type.rank
    shape[0], shape[axis] = batch, count
    indices = O.expand(O.reshape(where, tuple(shape)), update.type.sizes)
    return O.scatter_elements(x, indices, update, axis=axis)


@reads("OneHot", 9, 11, 28)
def one_hot(call: Call) -> Tensor:
    indices, values = call.tensor(0), call.tensor(2)
    (depth,) = call.ints(1)
    rank = indices.type.rank
    axis = whole_axis(int(call.attribute("axis", -1)), rank + 1)
    if indices.element.kind != "int":
        indices = O.cast(indices, "int64")
    sizes = list(indices.type.sizes)
    wide = O.cast(indices, "int64")
    positive = O.where(O.less(wide, 0), O.add(wide, depth), wide)
    column = O.reshape(positive, (*sizes[:axis], 1, *sizes[axis:]))
    shape = [1] * (rank + 1)
    shape[axis] = depth
    numbers = O.tensor(tuple(shape), "int64", const=np.arange(depth).reshape(shape))
    off, on = (O.reshape(part(values, 0, n, n + 1), ()) for n in (0, 1))
    return O.where(O.equal(column, numbers), on, off)


@reads("Trilu", 14)
def trilu(call: Call) -> Tensor:
    x = call.tensor(0)
    k = int(call.static(1).reshape(-1)[0]) if call.has(1) else 0
    return O.trilu(
        x, diagonal=max(min(k, 1 << 30), -(1 << 30)), upper=bool(call.attribute("upper", 1))
    )


@reads("DepthToSpace", 1, 11, 13, 28)
def depth_to_space(call: Call) -> Tensor:
    n, c, h, w = call.shape()
    b = int(call.required("blocksize"))
    if call.choice("mode", "DCR", "DCR", "CRD") == "DCR":
        split, axes = (n, b, b, c // (b * b), h, w), (0, 3, 4, 1, 5, 2)
    else:
        split, axes = (n, c // (b * b), b, b, h, w), (0, 1, 4, 2, 5, 3)
    moved = O.transpose(O.reshape(call.tensor(0), split), axes=axes)
    return O.reshape(moved, (n, c // (b * b), h * b, w * b))


@reads("SpaceToDepth", 1, 13, 28)
def space_to_depth(call: Call) -> Tensor:
    n, c, h, w = call.shape()
    b = int(call.required("blocksize"))
    split = O.reshape(call.tensor(0), (n, c, h // b, b, w // b, b))
    order = call.choice("mode", "DCR", "DCR", "CRD")
    moved = O.transpose(split, axes=(0, 3, 5, 1, 2, 4) if order == "DCR" else (0, 1, 3, 5, 2, 4))
    return O.reshape(moved, (n, c * b * b, h // b, w // b))


@reads("Pad", 1, 2, 11, 13, 18, 19, 21, 23, 24, 25)
def pad(call: Call) -> Value:
    x, rank = call.tensor(0), call.rank()
    mode = call.choice("mode", "constant", "constant", "reflect", "edge", "wrap")
    if call.version >= 11:
        pads = call.ints(1)
        value = call.value(2) if call.has(2) else 0
        axes = [whole_axis(a, rank) for a in call.ints(3)] if call.has(3) else list(range(rank))
    else:
        pads = [int(n) for n in call.attribute("pads", call.attribute("paddings"))]
        value, axes = call.attribute("value", 0.0), list(range(rank))
    border = [(0, 0)] * rank
    for d, axis in enumerate(axes):
        border[axis] = (pads[d], pads[d + len(axes)])
    if isinstance(value, Tensor):
        inside = padded(constant(np.ones(x.type.sizes, bool)), border, mode, False)
        whole = padded(x, border, mode, 0)
        if not isinstance(whole, Tensor) or mode != "constant":
            return whole
        return O.where(as_tensor(inside), whole, O.reshape(value, ()))
    plain = value.reshape(-1)[0] if isinstance(value, np.ndarray) else value
    return padded(x, border, mode, plain)


@reads("ReverseSequence", 10, 28)
def reverse_sequence(call: Call) -> Tensor:
    x = call.tensor(0)
    batch, time = int(call.attribute("batch_axis", 1)), int(call.attribute("time_axis", 0))
    return O.reverse_sequence(x, O.cast(call.tensor(1), "int64"), batch_axis=batch, time_axis=time)


@reads("CenterCropPad", 18)
def center_crop_pad(call: Call) -> Value:
    x, sizes = call.tensor(0), call.shape()
    axes = call.attribute("axes", range(len(sizes)))
    border = [(0, 0)] * len(sizes)
    for axis, wanted in zip(axes, call.ints(1), strict=True):
        d = whole_axis(int(axis), len(sizes))
        more = wanted - sizes[d]
        before = more // 2 if more >= 0 else -(-more // 2)
        border[d] = (before, more - before)
    return padded(x, border, "constant", 0)


@reads("TopK", 1, 10, 11, 24)
def top_k(call: Call) -> list[Tensor]:
    x, axis = call.tensor(0), call.axis(default=-1)
    count = int(call.required("k")) if call.version == 1 else call.ints(1)[0]
    largest = bool(call.attribute("largest", 1))
    indices = O.topk(x, count, axis=axis, largest=largest)
    return [O.gather_elements(x, indices, axis=axis), indices]

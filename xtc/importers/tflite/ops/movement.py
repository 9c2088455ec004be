# SPDX-License-Identifier: Apache-2.0
"""Data movement. In int8, results keep the scale of their operands."""

from __future__ import annotations

import numpy as np

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.movement import (
    expanded,
    padded,
    part,
    same,
    stacked,
    starts_of,
    taken,
)
from xtc.importers.tflite.call import Call, known
from xtc.importers.tflite.table import reads
from xtc.importers.values import Unsupported, Value, as_tensor, dtype_of

_MIRRORS = {0: "reflect", 1: "symmetric"}


def _axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise Unsupported(f"axis {axis} of rank {rank}")
    return axis % rank


def _same_scales(call: Call) -> None:
    """Raise Unsupported if an int8 result has a different scale than an operand."""
    if call.results[0].dtype != "int8" or call.results[0].scales is None:
        return
    for position in range(call.count):
        found = call.operand(position)
        if found.dtype == "int8" and call.scale(position) != call.result_scale:
            raise Unsupported("operand and result of different scales")


@reads("RESHAPE", "SQUEEZE", "EXPAND_DIMS")
def reshape(call: Call) -> Tensor:
    _same_scales(call)
    return O.reshape(call.tensor(0), call.results[0].shape)


@reads("TRANSPOSE")
def transpose(call: Call) -> Tensor:
    _same_scales(call)
    x = call.tensor(0)
    return O.transpose(x, axes=tuple(_axis(axis, x.type.rank) for axis in call.ints(1)))


def _border(call: Call) -> list[tuple[int, int]]:
    x, border = call.tensor(0), call.array(1)
    if border.shape != (x.type.rank, 2) or (border < 0).any() or (border > 1 << 20).any():
        raise Unsupported(f"paddings of shape {border.shape} for rank {x.type.rank}")
    return [(int(before), int(after)) for before, after in border]


@reads("PAD")
def pad(call: Call) -> Value:
    _same_scales(call)
    value = call.scale(0).zero_point if call.operand(0).dtype in ("int8", "uint8") else 0
    return padded(call.tensor(0), _border(call), "constant", value)


@reads("PADV2")
def pad_v2(call: Call) -> Value:
    _same_scales(call)
    return padded(call.tensor(0), _border(call), "constant", call.array(2).reshape(-1)[0])


@reads("MIRROR_PAD")
def mirror_pad(call: Call) -> Value:
    _same_scales(call)
    mode = _MIRRORS.get(call.options("MirrorPadOptions").Mode())
    if mode is None:
        raise Unsupported("the mode is neither REFLECT nor SYMMETRIC")
    return padded(call.tensor(0), _border(call), mode, 0)


@reads("CONCATENATION")
def concatenation(call: Call) -> Tensor:
    options = call.options("ConcatenationOptions")
    if options.FusedActivationFunction():
        raise Unsupported("an activation")
    _same_scales(call)
    xs = [call.tensor(position) for position in range(call.count)]
    axis = _axis(options.Axis(), xs[0].type.rank)
    return O.concat(*xs, axis=axis) if len(xs) > 1 else same(xs[0])


@reads("PACK")
def pack(call: Call) -> Tensor:
    _same_scales(call)
    xs = [call.tensor(position) for position in range(call.count)]
    return stacked(xs, _axis(call.options("PackOptions").Axis(), xs[0].type.rank + 1))


@reads("UNPACK")
def unpack(call: Call) -> list[Tensor]:
    x = call.tensor(0)
    axis = _axis(call.options("UnpackOptions").Axis(), x.type.rank)
    return [
        O.reshape(part(x, axis, n, n + 1), result.shape) for n, result in enumerate(call.results)
    ]


@reads("SHAPE")
def shape(call: Call) -> Value:
    return np.array(call.shape(0), call.results[0].dtype)


@reads("GATHER")
def gather(call: Call) -> Tensor:
    options, x, indices = call.options("GatherOptions"), call.tensor(0), call.tensor(1)
    if options.BatchDims():
        raise Unsupported("batches of indices")
    return O.gather(x, indices, axis=_axis(options.Axis(), x.type.rank))


@reads("SPACE_TO_DEPTH", "DEPTH_TO_SPACE")
def depth(call: Call) -> Tensor:
    x = call.tensor(0)
    n, h, w, c = x.type.sizes
    if call.operator.name == "SPACE_TO_DEPTH":
        b = call.options("SpaceToDepthOptions").BlockSize()
        split = O.reshape(x, (n, h // b, b, w // b, b, c))
    else:
        b = call.options("DepthToSpaceOptions").BlockSize()
        split = O.reshape(x, (n, h, w, b, b, c // (b * b)))
    axes = (0, 1, 3, 2, 4, 5)
    return O.reshape(O.transpose(split, axes=axes), call.results[0].shape)


@reads("SPLIT")
def split(call: Call) -> list[Tensor]:
    x = call.tensor(1)
    axis = _axis(call.ints(0)[0], x.type.rank)
    count = len(call.results)
    size, rest = divmod(x.type.sizes[axis], count)
    if rest:
        raise Unsupported(f"{count} parts of {x.type.sizes[axis]}")
    return [part(x, axis, start, start + size) for start in starts_of([size] * count)]


@reads("SPLIT_V")
def split_v(call: Call) -> list[Tensor]:
    x, sizes = call.tensor(0), call.ints(1)
    axis = _axis(call.ints(2)[0], x.type.rank)
    whole = x.type.sizes[axis]
    if sizes.count(-1) == 1:
        sizes[sizes.index(-1)] = whole - sum(sizes) - 1
    if min(sizes) < 1 or sum(sizes) != whole:
        raise Unsupported(f"parts {sizes} of {whole}")
    starts = starts_of(sizes)
    return [part(x, axis, start, start + size) for start, size in zip(starts, sizes, strict=True)]


@reads("TILE")
def tile(call: Call) -> Tensor:
    _same_scales(call)
    return O.tile(call.tensor(0), tuple(call.ints(1)))


@reads("REVERSE_V2")
def reverse(call: Call) -> Tensor:
    _same_scales(call)
    x = call.tensor(0)
    return O.flip(x, axes=tuple(_axis(axis, x.type.rank) for axis in call.ints(1)))


@reads("BROADCAST_TO")
def broadcast_to(call: Call) -> Tensor:
    _same_scales(call)
    return expanded(call.tensor(0), call.results[0].shape)


@reads("BROADCAST_ARGS")
def broadcast_args(call: Call) -> Value:
    shape = np.broadcast_shapes(tuple(call.ints(0)), tuple(call.ints(1)))
    return np.array(shape, call.results[0].dtype)


@reads("RANK")
def rank(call: Call) -> Value:
    return np.array(len(call.shape(0)), call.results[0].dtype)


@reads("ZEROS_LIKE")
def zeros_like(call: Call) -> Value:
    return np.zeros(call.shape(0), call.results[0].dtype)


@reads("FILL")
def fill(call: Call) -> Value:
    _same_scales(call)
    shape = tuple(call.ints(0))
    value = call.value(1)
    if isinstance(value, np.ndarray):
        return np.full(shape, value.reshape(-1)[0], value.dtype)
    return expanded(value, shape)


@reads("GATHER_ND")
def gather_nd(call: Call) -> Tensor:
    _same_scales(call)
    return O.gather_nd(call.tensor(0), call.tensor(1))


@reads("EMBEDDING_LOOKUP")
def embedding_lookup(call: Call) -> Tensor:
    table = call.value(1)
    if dtype_of(table) != call.results[0].dtype:
        table = known(call, 1)
    else:
        _same_scales(call)
    return O.gather(as_tensor(table), call.tensor(0), axis=0)


@reads("SPACE_TO_BATCH_ND")
def space_to_batch(call: Call) -> Tensor:
    """Move blocks of two dimensions into the batch, as before a dilated convolution."""
    _same_scales(call)
    x, (height, width), border = call.tensor(0), call.ints(1), call.array(2)
    value = call.scale(0).zero_point if call.operand(0).dtype == "int8" else 0
    edges = [(0, 0), *((int(a), int(b)) for a, b in border), (0, 0)]
    n, h, w, c = as_tensor(framed := padded(x, edges, "constant", value)).type.sizes
    split = O.reshape(as_tensor(framed), (n, h // height, height, w // width, width, c))
    return O.reshape(O.transpose(split, axes=(2, 4, 0, 1, 3, 5)), call.results[0].shape)


@reads("BATCH_TO_SPACE_ND")
def batch_to_space(call: Call) -> Value:
    """The inverse of SPACE_TO_BATCH_ND; borders are cropped."""
    _same_scales(call)
    x, (height, width), border = call.tensor(0), call.ints(1), call.array(2)
    n, h, w, c = x.type.sizes
    split = O.reshape(x, (height, width, n // (height * width), h, w, c))
    whole = O.reshape(
        O.transpose(split, axes=(2, 3, 0, 4, 1, 5)),
        (n // (height * width), h * height, w * width, c),
    )
    (top, bottom), (left, right) = ((int(a), int(b)) for a, b in border)
    sizes = whole.type.sizes
    rows, columns = range(top, sizes[1] - bottom), range(left, sizes[2] - right)
    return taken(whole, [range(sizes[0]), rows, columns, range(c)])


@reads("SLICE")
def slice(call: Call) -> Value:
    _same_scales(call)
    x, starts, sizes = call.tensor(0), call.ints(1), call.ints(2)
    chosen = []
    for start, size, whole in zip(starts, sizes, x.type.sizes, strict=True):
        stop = whole if size == -1 else start + size
        if not 0 <= start < stop <= whole:
            raise Unsupported(f"elements {start} to {stop} of {whole}")
        chosen.append(range(start, stop))
    return taken(x, chosen)


@reads("STRIDED_SLICE")
def strided_slice(call: Call) -> Tensor:
    _same_scales(call)
    options, x = call.options("StridedSliceOptions"), call.tensor(0)
    if options.EllipsisMask() or options.NewAxisMask() or options.Offset():
        raise Unsupported("masks of an ellipsis or of new dimensions")
    chosen = []
    numbers = zip(call.ints(1), call.ints(2), call.ints(3), x.type.sizes, strict=True)
    for d, (start, stop, step, size) in enumerate(numbers):
        if options.ShrinkAxisMask() >> d & 1:
            first = start + size if start < 0 else start
            chosen.append(range(size)[first : first + 1])
            continue
        begin = None if options.BeginMask() >> d & 1 else start
        end = None if options.EndMask() >> d & 1 else stop
        chosen.append(range(size)[begin:end:step])
    return O.reshape(as_tensor(taken(x, chosen)), call.results[0].shape)

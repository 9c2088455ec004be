# SPDX-License-Identifier: Apache-2.0
"""Convolutions and transposed convolutions in one, two and three dimensions."""

from __future__ import annotations

from collections.abc import Sequence

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.convolution import convolved
from xtc.importers.compositions.transposed_convolution import Spread, spread
from xtc.importers.compositions.windows import channels_first, channels_last, transposed
from xtc.importers.onnx.call import Call
from xtc.importers.onnx.ops.windows import windows
from xtc.importers.onnx.table import reads
from xtc.importers.values import Unsupported, Value, shape_of


@reads("Conv", 1, 11, 22)
def conv(call: Call) -> Tensor:
    x, filters = call.tensor(0), call.value(1)
    result = conv_of(call, x, filters)
    if call.has(2):
        result = O.add(result, call.tensor(2))
    if result.dtype != x.dtype:
        result = O.cast(result, x.dtype)
    return channels_first(result)


def conv_of(call: Call, x: Tensor, filters: Value) -> Tensor:
    """The convolution, channels last; integers stay in the accumulator's type."""
    shape = shape_of(filters)
    if x.type.rank != len(shape) or not 3 <= x.type.rank <= 5:
        raise Unsupported(f"an image of rank {x.type.rank}, filters of rank {len(shape)}")
    slides = windows(call, x.type.sizes[2:], shape[2:])
    rank = len(shape)
    kernel = transposed(filters, (*range(2, rank), 1, 0))
    return convolved(channels_last(x), kernel, slides, int(call.attribute("group", 1)))


@reads("ConvTranspose", 1, 11, 22)
def conv_transpose(call: Call) -> Tensor:
    x, filters = call.tensor(0), call.value(1)
    shape = shape_of(filters)
    if x.type.rank != len(shape) or not 3 <= x.type.rank <= 5:
        raise Unsupported(f"an image of rank {x.type.rank}, filters of rank {len(shape)}")
    spreads = _spreads(call, x.type.sizes[2:], shape[2:])
    result = spread(channels_last(x), filters, spreads, int(call.attribute("group", 1)))
    if call.has(2):
        result = O.add(result, call.tensor(2))
    return channels_first(result)


def _spreads(call: Call, sizes: Sequence[int], taps: Sequence[int]) -> list[Spread]:
    """The spread of each dimension."""
    count = len(sizes)

    def ints(name: str, default: int, number: int = count) -> list[int]:
        values = [int(value) for value in call.attribute(name, [default] * number)]
        if len(values) != number:
            raise Unsupported(f"{name}={values}, but {number} values are required")
        return values

    strides, dilations = ints("strides", 1), ints("dilations", 1)
    more, pads = ints("output_padding", 0), ints("pads", 0, 2 * count)
    wanted = [int(value) for value in call.attribute("output_shape", [])][-count:]
    how = call.choice("auto_pad", "NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")
    result = []
    for d in range(count):
        extent = (taps[d] - 1) * dilations[d] + 1
        full = (sizes[d] - 1) * strides[d] + extent + more[d]
        before, after = pads[d], pads[d + count]
        if wanted or how.startswith("SAME"):
            total = full - (wanted[d] if wanted else sizes[d] * strides[d])
            half = total // 2
            before, after = (total - half, half) if how != "SAME_UPPER" else (half, total - half)
        elif how == "VALID":
            before = after = 0
        output = full - before - after
        if output < 1:
            raise Unsupported(f"padding {before} and {after} of a result of {full}")
        result.append(Spread(sizes[d], taps[d], strides[d], dilations[d], before, output))
    return result

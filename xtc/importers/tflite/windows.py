# SPDX-License-Identifier: Apache-2.0
"""Sliding windows over images, with SAME or VALID padding."""

from __future__ import annotations

from typing import Any

import tflite

from xtc.graph.tensor import Tensor
from xtc.importers.compositions.movement import padded
from xtc.importers.compositions.windows import Window, window_of
from xtc.importers.values import Unsupported, as_tensor

_PADDINGS = {tflite.Padding.SAME: "SAME_UPPER", tflite.Padding.VALID: "VALID"}


def windows(
    sizes: tuple[int, ...], taps: tuple[int, ...], options: Any, dilations: tuple[int, int] = (1, 1)
) -> list[Window]:
    """The windows along height and width; `options` has strides and padding."""
    strides = options.StrideH(), options.StrideW()
    how = _PADDINGS.get(options.Padding())
    if how is None:
        raise Unsupported(f"padding {options.Padding()}")
    if min(*strides, *dilations, *taps) < 1 or max(*strides, *dilations, *taps) > 1 << 20:
        raise Unsupported(f"strides {strides}, dilations {dilations}, windows {taps}")
    return [
        window_of(size, tap, step, apart, (0, 0), how, False)
        for size, tap, step, apart in zip(sizes, taps, strides, dilations, strict=True)
    ]


def with_border(x: Tensor, slides: list[Window], value: int | float) -> Tensor:
    """Pad (n, h, w, c) with `value`; nothing is cropped."""
    border = [(max(a, 0), max(b, 0)) for a, b in (slide.border for slide in slides)]
    if not any(map(any, border)):
        return x
    return as_tensor(padded(x, [(0, 0), *border, (0, 0)], "constant", value))


def images(*tensors: Tensor) -> None:
    """Raise Unsupported unless all tensors have rank 4."""
    for tensor in tensors:
        if tensor.type.rank != 4:
            raise Unsupported(f"an image of rank {tensor.type.rank}")

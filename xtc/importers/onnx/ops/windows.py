# SPDX-License-Identifier: Apache-2.0
"""Sliding windows over the last dimensions of images (n, c, ...), from ONNX's attributes.

Graph operators expect images (n, h, w, c). A one-dimensional signal is an image of height 1.
"""

from __future__ import annotations

from collections.abc import Sequence

from xtc.importers.compositions.windows import Window, window_of
from xtc.importers.onnx.call import Call
from xtc.importers.values import Unsupported


def windows(call: Call, sizes: Sequence[int], taps: Sequence[int]) -> list[Window]:
    """A window for each dimension, from the attributes."""
    count = len(sizes)
    strides = _ints(call, "strides", [1] * count, count)
    dilations = _ints(call, "dilations", [1] * count, count)
    pads = _ints(call, "pads", [0] * (2 * count), 2 * count)
    how = call.choice("auto_pad", "NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")
    if min(*strides, *dilations, *taps, 1) < 1:
        raise Unsupported(f"strides {strides}, dilations {dilations}, kernel {list(taps)}")
    ceil = bool(call.attribute("ceil_mode", 0))
    return [
        window_of(
            sizes[d], taps[d], strides[d], dilations[d], (pads[d], pads[d + count]), how, ceil
        )
        for d in range(count)
    ]


def _ints(call: Call, name: str, default: list[int], count: int) -> list[int]:
    values = [int(value) for value in call.attribute(name, default)]
    if len(values) != count:
        raise Unsupported(f"{name}={values}, but {count} values are required")
    return values

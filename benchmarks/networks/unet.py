# SPDX-License-Identifier: Apache-2.0
"""A U-Net (Ronneberger et al., 2015) that pads and upsamples, base width 32, at 256 x 256."""

from __future__ import annotations

import xtc
import xtc.ops as O
from benchmarks.networks.layers import Layers, image, upsample
from xtc.graph.tensor import Tensor


def unet(small: bool = False) -> xtc.Graph:
    """Four levels down and up, with the skipped images concatenated: 7.8 M weights."""
    layers, levels, width = Layers(), 2 if small else 4, 4 if small else 32
    x = image(16 if small else 256)
    skipped = []
    with O.graph(name="unet") as gb:
        y = _double(layers, x, width)
        for level in range(1, levels + 1):
            skipped.append(y)
            y = _double(layers, O.max_pool2d(y, 2), width << level)
        for level in reversed(range(levels)):
            up = O.relu(layers.conv(upsample(y), width << level, 3))
            y = _double(layers, O.concat(skipped[level], up, axis=3), width << level)
        layers.conv(y, 2)
    return gb.graph


def _double(layers: Layers, x: Tensor, width: int) -> Tensor:
    return O.relu(layers.conv(O.relu(layers.conv(x, width, 3)), width, 3))

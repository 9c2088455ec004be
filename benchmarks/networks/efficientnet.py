# SPDX-License-Identifier: Apache-2.0
"""A network like EfficientNet-B0 (Tan and Le, 2019): inverted residuals with squeeze-and-excitation
and silu, batch 1 at 224 x 224: 5.3 M weights."""

from __future__ import annotations

import xtc
import xtc.ops as O
from benchmarks.networks.layers import Layers, image
from xtc.graph.tensor import Tensor

# Expansion, window, channels, blocks, stride of the first: table 1 of the paper.
_STAGES = (
    (1, 3, 16, 1, 1),
    (6, 3, 24, 2, 2),
    (6, 5, 40, 2, 2),
    (6, 3, 80, 3, 2),
    (6, 5, 112, 3, 1),
    (6, 5, 192, 4, 2),
    (6, 3, 320, 1, 1),
)
_SMALL = ((1, 3, 8, 1, 1), (4, 5, 12, 2, 2))


def efficientnet(small: bool = False) -> xtc.Graph:
    """The classifier with 1,000 classes."""
    layers = Layers()
    x = image(32 if small else 224)
    with O.graph(name="efficientnet") as gb:
        y = O.silu(layers.conv(x, 8 if small else 32, 3, stride=2))
        for expansion, window, channels, depth, first in _SMALL if small else _STAGES:
            for number in range(depth):
                y = _block(layers, y, (expansion, window, channels), 1 if number else first)
        y = O.silu(layers.conv(y, 32 if small else 1280))
        layers.linear(O.reduce_mean(y, axes=(1, 2)), 10 if small else 1000)
    return gb.graph


def _block(layers: Layers, x: Tensor, stage: tuple[int, int, int], stride: int) -> Tensor:
    expansion, window, channels = stage
    inputs = x.type.sizes[3]
    hidden = inputs * expansion
    y = O.silu(layers.conv(x, hidden)) if expansion > 1 else x
    y = O.silu(layers.conv(y, hidden, window, stride=stride, groups=hidden))
    y = layers.conv(_excited(layers, y, max(inputs // 4, 1)), channels)
    return O.add(x, y) if stride == 1 and inputs == channels else y


def _excited(layers: Layers, x: Tensor, squeezed: int) -> Tensor:
    """Squeeze-and-excitation: channels scaled by two small layers on their means."""
    means = O.reduce_mean(x, axes=(1, 2), keepdims=True)
    scales = layers.conv(O.silu(layers.conv(means, squeezed)), x.type.sizes[3])
    return O.mul(x, O.sigmoid(scales))

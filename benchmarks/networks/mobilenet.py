# SPDX-License-Identifier: Apache-2.0
"""MobileNetV2 (Sandler et al., 2018), width 1.0, batch 1 at 224 x 224: 3.5 M weights."""

from __future__ import annotations

import xtc
import xtc.ops as O
from benchmarks.networks.layers import Layers, image, relu6
from xtc.graph.tensor import Tensor

# Expansion, channels, blocks, stride of the first: table 2 of the paper.
_STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
_SMALL = ((1, 8, 1, 1), (4, 12, 2, 2))


def mobilenet_v2(small: bool = False) -> xtc.Graph:
    """Inverted residuals with linear bottlenecks."""
    layers = Layers()
    x = image(32 if small else 224)
    with O.graph(name="mobilenetv2") as gb:
        y = relu6(layers.conv(x, 8 if small else 32, 3, stride=2))
        for expansion, channels, depth, first in _SMALL if small else _STAGES:
            for number in range(depth):
                y = _inverted(layers, y, expansion, channels, 1 if number else first)
        y = relu6(layers.conv(y, 32 if small else 1280))
        layers.linear(O.reduce_mean(y, axes=(1, 2)), 10 if small else 1000)
    return gb.graph


def _inverted(layers: Layers, x: Tensor, expansion: int, channels: int, stride: int) -> Tensor:
    inputs = x.type.sizes[3]
    hidden = inputs * expansion
    y = relu6(layers.conv(x, hidden)) if expansion > 1 else x
    y = relu6(layers.conv(y, hidden, 3, stride=stride, groups=hidden))
    y = layers.conv(y, channels)
    return O.add(x, y) if stride == 1 and inputs == channels else y

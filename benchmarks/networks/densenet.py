# SPDX-License-Identifier: Apache-2.0
"""DenseNet-121 (Huang et al., 2017), batch 1 at 224 x 224: 8.0 M weights.

Each layer reads what all layers of its block before it computed. What normalizes follows a
concatenation, so it stays a scale and a shift in front of a convolution.
"""

from __future__ import annotations

import numpy as np

import xtc
import xtc.ops as O
from benchmarks.networks.layers import Layers, image
from xtc.graph.tensor import Tensor

_BLOCKS, _GROWTH = (6, 12, 24, 16), 32
_SMALL_BLOCKS, _SMALL_GROWTH = (2, 3), 8
_BOTTLENECK = 4
"""Filters of a layer's 1 x 1 convolution, in times of the growth."""


def densenet121(small: bool = False) -> xtc.Graph:
    """The classifier with 1,000 classes."""
    layers = Layers()
    growth = _SMALL_GROWTH if small else _GROWTH
    blocks = _SMALL_BLOCKS if small else _BLOCKS
    x = image(32 if small else 224)
    with O.graph(name="densenet121") as gb:
        y = O.relu(layers.conv(x, 2 * growth, 7, stride=2))
        y = O.max_pool2d(y, 3, stride=2, padding=1)
        for depth in blocks[:-1]:
            y = _transition(layers, _dense(layers, y, depth, growth))
        y = _normalized(layers, _dense(layers, y, blocks[-1], growth))
        layers.linear(O.reduce_mean(y, axes=(1, 2)), 10 if small else 1000)
    return gb.graph


def _dense(layers: Layers, x: Tensor, depth: int, growth: int) -> Tensor:
    """Layers whose results are concatenated to what they read."""
    for _ in range(depth):
        y = O.relu(layers.conv(_normalized(layers, x), _BOTTLENECK * growth))
        filters = layers.weight(3, 3, y.type.sizes[3], growth, fan_in=9 * y.type.sizes[3])
        x = O.concat(x, O.conv2d(y, filters, padding=1), axis=3)
    return x


def _transition(layers: Layers, x: Tensor) -> Tensor:
    """Half of the channels, at half of the size."""
    channels = x.type.sizes[3]
    filters = layers.weight(1, 1, channels, channels // 2, fan_in=channels)
    return O.avg_pool2d(O.conv2d(_normalized(layers, x), filters), 2)


def _normalized(layers: Layers, x: Tensor) -> Tensor:
    """Scale, shift and relu."""
    channels = x.type.sizes[3]
    scale = O.tensor((channels,), "float32", const=np.ones(channels, np.float32))
    return O.relu(O.add(O.mul(x, scale), layers.bias(channels)))

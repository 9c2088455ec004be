# SPDX-License-Identifier: Apache-2.0
"""ResNet-18 and ResNet-50 (He et al., 2015), batch 1 at 224 x 224; the second with its stride in
the 3 x 3 convolution, as in torchvision."""

from __future__ import annotations

from collections.abc import Callable

import xtc
import xtc.ops as O
from benchmarks.networks.layers import Layers, image
from xtc.graph.tensor import Tensor

Block = Callable[[Layers, Tensor, int, int], Tensor]


def resnet18(small: bool = False) -> xtc.Graph:
    """Blocks of two 3 x 3 convolutions: 11.7 M weights."""
    return _resnet("resnet18", _basic, (1, 1) if small else (2, 2, 2, 2), small)


def resnet50(small: bool = False) -> xtc.Graph:
    """Blocks of 1 x 1, 3 x 3, 1 x 1 convolutions: 25.6 M weights."""
    return _resnet("resnet50", _bottleneck, (1, 1) if small else (3, 4, 6, 3), small)


def _resnet(name: str, block: Block, depths: tuple[int, ...], small: bool) -> xtc.Graph:
    layers, width = Layers(), 8 if small else 64
    x = image(32 if small else 224)
    with O.graph(name=name) as gb:
        y = O.relu(layers.conv(x, width, 7, stride=2))
        y = O.max_pool2d(y, 3, stride=2, padding=1)
        for level, depth in enumerate(depths):
            for number in range(depth):
                stride = 2 if level and not number else 1
                y = block(layers, y, width << level, stride)
        layers.linear(O.reduce_mean(y, axes=(1, 2)), 10 if small else 1000)
    return gb.graph


def _basic(layers: Layers, x: Tensor, width: int, stride: int) -> Tensor:
    y = O.relu(layers.conv(x, width, 3, stride=stride))
    return O.relu(O.add(layers.conv(y, width, 3), _shortcut(layers, x, width, stride)))


def _bottleneck(layers: Layers, x: Tensor, width: int, stride: int) -> Tensor:
    y = O.relu(layers.conv(x, width))
    y = O.relu(layers.conv(y, width, 3, stride=stride))
    return O.relu(O.add(layers.conv(y, 4 * width), _shortcut(layers, x, 4 * width, stride)))


def _shortcut(layers: Layers, x: Tensor, width: int, stride: int) -> Tensor:
    """`x` itself, projected if its shape changes."""
    if stride == 1 and x.type.sizes[3] == width:
        return x
    return layers.conv(x, width, stride=stride)

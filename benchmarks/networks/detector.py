# SPDX-License-Identifier: Apache-2.0
"""A detector's neck and head: a feature pyramid over three levels of a backbone (Lin et al., 2017)
and towers of four convolutions for classes and boxes, which all levels share, as RetinaNet's."""

from __future__ import annotations

import xtc
import xtc.ops as O
from benchmarks.networks.layers import Layers, upsample
from xtc.graph.tensor import Tensor

_ANCHORS = 9
_CLASSES = 80


def detector(small: bool = False) -> xtc.Graph:
    """From the levels of strides 8, 16 and 32 of a 320 x 320 image to classes and boxes."""
    layers = Layers()
    size, width = (8, 8) if small else (40, 128)
    channels = (8, 12, 16) if small else (128, 256, 512)
    features = [
        O.tensor((1, size >> level, size >> level, count), "float32", name=f"level{level}")
        for level, count in enumerate(channels)
    ]
    with O.graph(name="detector") as gb:
        pyramid = _pyramid(layers, features, width)
        classes = _Tower(layers, width, _ANCHORS * (4 if small else _CLASSES))
        boxes = _Tower(layers, width, _ANCHORS * 4)
        O.sigmoid(O.concat(*map(classes, pyramid), axis=0))
        O.concat(*map(boxes, pyramid), axis=0)
    return gb.graph


def _pyramid(layers: Layers, features: list[Tensor], width: int) -> list[Tensor]:
    """Each level with those above it added."""
    top = layers.conv(features[-1], width)
    levels = [top]
    for feature in reversed(features[:-1]):
        top = O.add(layers.conv(feature, width), upsample(top))
        levels.insert(0, top)
    return [layers.conv(level, width, 3) for level in levels]


class _Tower:
    """Four convolutions and one to the results, with the same weights for every level."""

    def __init__(self, layers: Layers, width: int, outputs: int) -> None:
        self._outputs = outputs
        self._weights = [
            (layers.weight(3, 3, width, filters, fan_in=9 * width), layers.bias(filters))
            for filters in (width, width, width, width, outputs)
        ]

    def __call__(self, x: Tensor) -> Tensor:
        """(boxes, outputs of an anchor), from the top left to the bottom right."""
        for w, b in self._weights[:-1]:
            x = O.relu(O.add(O.conv2d(x, w, padding=1), b))
        w, b = self._weights[-1]
        y = O.add(O.conv2d(x, w, padding=1), b)
        return O.reshape(y, (-1, self._outputs // _ANCHORS))

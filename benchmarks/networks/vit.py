# SPDX-License-Identifier: Apache-2.0
"""ViT-S/16 (Dosovitskiy et al., 2021; the size is DeiT's), batch 1 at 224 x 224: 22 M weights."""

from __future__ import annotations

import xtc
import xtc.ops as O
from benchmarks.networks.layers import Layers, image


def vit_small(small: bool = False) -> xtc.Graph:
    """Twelve blocks of width 384 and six heads over 197 tokens."""
    return vit(2, 32, 2, 32) if small else vit(12, 384, 6, 224)


def vit(blocks: int, width: int, heads: int, size: int) -> xtc.Graph:
    """A vision transformer with patches of 16 x 16 pixels for images of `size` pixels."""
    layers = Layers()
    x = image(size)
    with O.graph(name="vit") as gb:
        patches = layers.conv(x, width, 16, stride=16, padding="valid")
        tokens = O.reshape(patches, (-1, width))
        y = O.concat(layers.weight(1, width, fan_in=100), tokens, axis=0)
        y = O.add(y, layers.weight(*y.type.sizes, fan_in=100))
        for _ in range(blocks):
            y = layers.encoder_block(y, heads, 4 * width)
        first = O.slice(layers.layer_norm(y), (0, 0), (1, width))
        layers.linear(first, 10 if size < 224 else 1000)
    return gb.graph

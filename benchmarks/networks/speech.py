# SPDX-License-Identifier: Apache-2.0
"""A speech encoder like Whisper tiny's (Radford et al., 2022): two convolutions over time and four
transformer blocks, 5 seconds of sound in 500 frames of 80 frequencies; 7.6 M weights."""

from __future__ import annotations

import xtc
import xtc.ops as O
from benchmarks.networks.layers import Layers
from xtc.graph.tensor import Tensor


def encoder(small: bool = False) -> xtc.Graph:
    """From frames of a mel spectrogram, (frames, frequencies), to features at half the rate."""
    frames, bands, width, heads, blocks = (16, 8, 32, 2, 2) if small else (500, 80, 384, 6, 4)
    layers = Layers()
    sound = O.tensor((frames, bands), "float32", name="frames")
    with O.graph(name="speech") as gb:
        y = O.reshape(sound, (1, 1, frames, bands))
        y = O.gelu(_over_time(layers, y, width, 1))
        y = O.gelu(_over_time(layers, y, width, 2))
        y = O.reshape(y, (frames // 2, width))
        y = O.add(y, layers.weight(frames // 2, width, fan_in=100))
        for _ in range(blocks):
            y = layers.encoder_block(y, heads, 4 * width)
        layers.layer_norm(y)
    return gb.graph


def _over_time(layers: Layers, x: Tensor, width: int, stride: int) -> Tensor:
    """A convolution of three frames."""
    channels = x.type.sizes[3]
    w = layers.weight(1, 3, channels, width, fan_in=3 * channels)
    y = O.conv2d(x, w, stride=(1, stride), padding=((0, 0), (1, 1)))
    return O.add(y, layers.bias(width))

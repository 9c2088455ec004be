# SPDX-License-Identifier: Apache-2.0
"""Random int8 networks for boards, as a hypothesis strategy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

import xtc.ops as O
from xtc.graph.graph import Graph
from xtc.graph.tensor import Tensor

_CHANNELS = st.sampled_from([1, 2, 3, 4, 5, 8, 9, 12, 16, 20])


@dataclass
class Drawing:
    """A network under construction: the source of choices, and the image so far."""

    draw: Callable[[Any], Any]
    x: Tensor
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    earlier: list[Tensor] = field(default_factory=list)

    def weights(self, *shape: int) -> Tensor:
        return O.tensor(shape, "int8", const=self.rng.integers(-128, 128, shape, np.int8))

    def finish(self, y: Tensor, terms: int) -> None:
        """An optional bias, requantization per tensor or per channel, and either rounding."""
        columns = int(y.shape[-1])
        if self.draw(st.booleans()):
            bias = self.rng.integers(-3000, 3000, columns, np.int32)
            y = O.add(y, O.tensor((columns,), "int32", const=bias))
        scale: Any = self.rng.uniform(0.2, 2) / (100 * np.sqrt(terms))
        if self.draw(st.booleans()):
            scale = self.rng.uniform(0.2, 2, columns) / (100 * np.sqrt(terms))
        low = self.draw(st.sampled_from([-128, -100, 0]))
        rounding = self.draw(st.sampled_from(["double", "double", "single"]))
        zero = self.draw(st.integers(-128, 127))
        self.earlier.append(self.x)
        self.x = O.requantize(y, scale, zero_point=zero, low=low, rounding=rounding)

    def convolution(self) -> None:
        kernel = (self.draw(st.integers(1, 4)), self.draw(st.integers(1, 4)))
        channels, stride = int(self.x.shape[3]), self.draw(st.integers(1, 2))
        groups = self.draw(st.sampled_from([1, 1, channels]))
        filters = channels if groups > 1 else self.draw(_CHANNELS)
        dilation = self.draw(st.sampled_from([1, 1, 2]))
        image = self.bordered([(k - 1) * dilation for k in kernel])
        w = self.weights(*kernel, channels // groups, filters)
        y = O.conv2d(image, w, stride=stride, groups=groups, dilation=dilation)
        self.finish(y, kernel[0] * kernel[1] * channels // groups)

    def bordered(self, needed: list[int]) -> Tensor:
        """The image with a border, which is required if a window would not fit."""
        borders = []
        for size, more in zip(self.x.shape[1:3], needed, strict=True):
            least = max(0, more + 1 - int(size))
            total = least if self.draw(st.booleans()) else max(least, more)
            borders.append((total // 2, total - total // 2))
        if not any(sum(pair) for pair in borders):
            return self.x
        return O.pad(self.x, ((0, 0), *borders, (0, 0)), value=self.draw(st.integers(-9, 9)))

    def sum(self) -> None:
        """A sum with an earlier image of the same shape."""
        fitting = [t for t in self.earlier if t.shape == self.x.shape]
        if not fitting:
            return
        q = O.Quantization(0.02, 3), O.Quantization(0.05, -7), O.Quantization(0.04, 1)
        self.x = O.quantized_add(self.x, self.draw(st.sampled_from(fitting)), q)

    def pool(self) -> None:
        if min(int(size) for size in self.x.shape[1:3]) >= 2:
            self.x = O.max_pool2d(self.x, 2, stride=self.draw(st.integers(1, 2)))

    def end(self) -> None:
        """A mean and a fully connected layer, or the image as it is."""
        if self.draw(st.booleans()):
            channels = int(self.x.shape[3])
            row = O.reshape(O.quantized_mean(self.x, axes=(1, 2)), (1, channels))
            self.finish(O.matmul(row, self.weights(channels, self.draw(_CHANNELS))), channels)


@st.composite
def networks(draw: Callable[[Any], Any]) -> Graph:
    """An int8 network of one to four layers on an image of at most 9 x 9."""
    size = (draw(st.integers(2, 9)), draw(st.integers(2, 9)), draw(_CHANNELS))
    x = O.tensor((1, *size), "int8", name="x")
    with O.graph(name="random_net") as gb:
        drawing = Drawing(draw, x)
        drawing.convolution()
        for _ in range(draw(st.integers(0, 3))):
            getattr(drawing, draw(st.sampled_from(["convolution", "convolution", "sum", "pool"])))()
        drawing.end()
    return gb.graph


@st.composite
def float_networks(draw: Callable[[Any], Any]) -> Graph:
    """A float32 network of one to three convolutions, with poolings, activations and an end."""
    rng = np.random.default_rng(draw(st.integers(0, 1000)))

    def weights(*shape: int) -> Tensor:
        scale = 1 / np.sqrt(max(1, int(np.prod(shape[:-1]))))
        return O.tensor(shape, const=rng.normal(0, scale, shape).astype(np.float32))

    size = (draw(st.integers(3, 9)), draw(st.integers(3, 9)), draw(_CHANNELS))
    x = O.tensor((1, *size), name="x")
    with O.graph(name="random_floats") as gb:
        y = x
        for _ in range(draw(st.integers(1, 3))):
            filters, taps = draw(_CHANNELS), draw(st.integers(1, 3))
            y = O.conv2d(y, weights(taps, taps, int(y.shape[3]), filters), padding="same")
            y = draw(st.sampled_from([O.relu, O.tanh, O.sigmoid, O.gelu]))(
                O.add(y, weights(filters))
            )
            pool = draw(st.sampled_from([None, O.max_pool2d, O.avg_pool2d]))
            if pool is not None and min(int(n) for n in y.shape[1:3]) >= 2:
                y = pool(y, 2, stride=draw(st.integers(1, 2)))
        y = O.reduce_mean(y, axes=(1, 2))
        O.softmax(O.matmul(y, weights(int(y.shape[1]), draw(_CHANNELS))), name="y")
    return gb.graph

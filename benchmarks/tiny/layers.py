# SPDX-License-Identifier: Apache-2.0
"""Layers of int8 networks with random weights, and scales for which results fill their range."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

import xtc.ops as O
from xtc.graph.tensor import Tensor

ZERO = -128  # zero point after a ReLU: stands for the real number 0
_SPREAD = 128 * 60.0  # standard scale of products of an element and a weight


@dataclass
class Layers:
    """Builds layers; `rng` generates their weights."""

    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def conv(
        self, x: Tensor, filters: int, kernel: tuple[int, int], stride: int = 1, *, name: str
    ) -> Tensor:
        """A convolution with zero padding, per-channel requantization and a ReLU."""
        weights = self._weights(*kernel, int(x.shape[3]), filters)
        y = O.conv2d(_padded(x, kernel, stride), weights, stride=stride)
        return self._finish(y, x, weights, name)

    def depthwise(self, x: Tensor, stride: int = 1, *, name: str) -> Tensor:
        """A 3x3 convolution of each channel by itself."""
        channels = int(x.shape[3])
        weights = self._weights(3, 3, 1, channels)
        y = O.conv2d(_padded(x, (3, 3), stride), weights, stride=stride, groups=channels)
        return self._finish(y, x, weights, name)

    def dense(self, x: Tensor, columns: int, *, name: str) -> Tensor:
        """A fully connected layer."""
        weights = self._weights(int(x.shape[1]), columns)
        return self._finish(O.matmul(x, weights), x, weights, name, per_channel=False)

    def add(self, a: Tensor, b: Tensor, *, name: str) -> Tensor:
        """A sum with a ReLU."""
        q = O.Quantization(0.02, ZERO), O.Quantization(0.03, ZERO), O.Quantization(0.025, ZERO)
        return O.quantized_add(a, b, q, name=name)

    def mean(self, x: Tensor, *, name: str) -> Tensor:
        """Average pooling over the whole image, as one row."""
        pooled = O.quantized_mean(x, axes=(1, 2))
        return O.reshape(pooled, (1, int(x.shape[3])), name=name)

    def _weights(self, *shape: int) -> Tensor:
        return O.tensor(shape, "int8", const=self.rng.integers(-127, 128, shape, np.int8))

    def _finish(
        self, y: Tensor, x: Tensor, weights: Tensor, name: str, *, per_channel: bool = True
    ) -> Tensor:
        """Bias with the zero point of `x` folded in, requantization, ReLU."""
        values = weights.const
        assert values is not None  # noqa: S101  weights are constants
        columns = values.shape[-1]
        rows = values.reshape(-1, columns)
        folded = self.rng.integers(-2000, 2000, columns, np.int32)
        folded = folded - ZERO * rows.sum(axis=0, dtype=np.int32)
        bias = O.tensor((columns,), "int32", const=folded.astype(np.int32))
        scales = self.rng.uniform(64, 128, columns) / (_SPREAD * np.sqrt(len(rows)))
        scales = scales if per_channel else scales[0]
        return O.requantize(O.add(y, bias), scales, zero_point=ZERO, name=name)


def _padded(x: Tensor, kernel: tuple[int, int], stride: int) -> Tensor:
    """Padding that keeps the size divided by the stride, with an odd row or column at the end."""
    border = []
    for size, extent in zip(x.shape[1:3], kernel, strict=True):
        positions = -(-int(size) // stride)
        total = max(0, (positions - 1) * stride + extent - int(size))
        border.append((total // 2, total - total // 2))
    if not any(sum(pair) for pair in border):
        return x
    return O.pad(x, ((0, 0), *border, (0, 0)), value=ZERO)

# SPDX-License-Identifier: Apache-2.0
"""Layers of networks, with random weights from one generator."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

import xtc.ops as O
from xtc.graph.tensor import Tensor

Activation = Callable[[Tensor], Tensor]


class Layers:
    """Builds layers whose weights keep activations near unit variance. Images are (n, h, w, c)."""

    def __init__(self, seed: int = 0) -> None:
        self._rng = np.random.default_rng(seed)

    def weight(self, *shape: int, fan_in: int, gain: float = 1.0) -> Tensor:
        """A constant of variance gain**2 / fan_in."""
        values = self._rng.standard_normal(shape, np.float32)
        values *= gain / math.sqrt(fan_in)
        return O.tensor(shape, "float32", const=values)

    def bias(self, size: int) -> Tensor:
        """A constant vector of small values."""
        return self.weight(size, fan_in=100)

    def conv(
        self,
        x: Tensor,
        filters: int,
        window: int = 1,
        *,
        stride: int = 1,
        groups: int = 1,
        padding: object = None,
    ) -> Tensor:
        """Convolution and bias; height and width are divided by the stride."""
        part = x.type.sizes[3] // groups
        w = self.weight(window, window, part, filters, fan_in=window * window * part)
        border = window // 2 if padding is None else padding
        y = O.conv2d(x, w, stride=stride, padding=border, groups=groups)
        return O.add(y, self.bias(filters))

    def linear(self, x: Tensor, outputs: int, *, bias: bool = True) -> Tensor:
        """`x @ w + b` along the last dimension."""
        inputs = x.type.sizes[-1]
        y = O.matmul(x, self.weight(inputs, outputs, fan_in=inputs))
        return O.add(y, self.bias(outputs)) if bias else y

    def layer_norm(self, x: Tensor) -> Tensor:
        """Layer normalization of the last dimension, with scale and shift."""
        size = x.type.sizes[-1]
        scale = O.tensor((size,), "float32", const=np.ones(size, np.float32))
        return O.layer_norm(x, scale, self.bias(size))

    def mlp(self, x: Tensor, hidden: int, activation: Activation = O.gelu) -> Tensor:
        """Two linear layers with an activation between them."""
        return self.linear(activation(self.linear(x, hidden)), x.type.sizes[-1])

    def self_attention(self, x: Tensor, heads: int, mask: Tensor | None = None) -> Tensor:
        """Multi-head attention of (tokens, width) to itself; `mask` is added to the scores."""
        q, k, v = (split_heads(self.linear(x, x.type.sizes[-1]), heads) for _ in range(3))
        return self.linear(merge_heads(attend(q, k, v, mask)), x.type.sizes[-1])

    def encoder_block(self, x: Tensor, heads: int, hidden: int) -> Tensor:
        """A transformer block that normalizes before attention and before the linear layers."""
        x = O.add(x, self.self_attention(self.layer_norm(x), heads))
        return O.add(x, self.mlp(self.layer_norm(x), hidden))


def split_heads(x: Tensor, heads: int) -> Tensor:
    """(tokens, width) as (heads, tokens, width / heads)."""
    tokens, width = x.type.sizes
    return O.transpose(O.reshape(x, (tokens, heads, width // heads)), (1, 0, 2))


def merge_heads(x: Tensor) -> Tensor:
    """(heads, tokens, part) as (tokens, heads * part)."""
    heads, tokens, part = x.type.sizes
    return O.reshape(O.transpose(x, (1, 0, 2)), (tokens, heads * part))


def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """Scaled dot-product attention of (heads, tokens, part)."""
    scores = O.mul(O.matmul(q, k, transpose_b=True), 1 / math.sqrt(q.type.sizes[-1]))
    if mask is not None:
        scores = O.add(scores, mask)
    return O.matmul(O.softmax(scores), v)


def causal_mask(tokens: int) -> Tensor:
    """(tokens, tokens): 0 for visible tokens, a large negative number for later ones."""
    values = np.triu(np.full((tokens, tokens), -1e9, np.float32), 1)
    return O.tensor((tokens, tokens), "float32", const=values)


def relu6(x: Tensor) -> Tensor:
    """`x` between 0 and 6."""
    return O.minimum(O.relu(x), 6.0)


def upsample(x: Tensor) -> Tensor:
    """An image with each pixel twice in both directions."""
    for axis in (1, 2):
        size = x.type.sizes[axis]
        indices = np.repeat(np.arange(size, dtype=np.int32), 2)[None]
        positions = O.tensor(indices.shape, "int32", const=indices)
        ones = O.tensor(indices.shape, "float32", const=np.ones(indices.shape, np.float32))
        x = O.resample(x, positions, ones, axis=axis)
    return x


def image(size: int, channels: int = 3) -> Tensor:
    """The input image of a network, of batch 1."""
    return O.tensor((1, size, size, channels), "float32", name="image")

# SPDX-License-Identifier: Apache-2.0
"""One of the sixteen blocks of Llama 3.2 1B: RMS norm, rotated positions, grouped queries and a
gated linear unit; 128 tokens, 61 M weights."""

from __future__ import annotations

import numpy as np

import xtc
import xtc.ops as O
from benchmarks.networks.layers import Layers, attend, causal_mask, merge_heads, split_heads
from xtc.graph.tensor import Tensor


def block(small: bool = False) -> xtc.Graph:
    """Width 2,048, 32 heads for queries and 8 for keys and values, 8,192 hidden."""
    width, heads, groups, hidden, tokens = (32, 4, 2, 48, 8) if small else (2048, 32, 8, 8192, 128)
    layers = Layers()
    x = O.tensor((tokens, width), "float32", name="x")
    with O.graph(name="llama") as gb:
        y = O.add(x, _attention(layers, _rms_norm(layers, x), heads, groups))
        normal = _rms_norm(layers, y)
        gate = O.silu(layers.linear(normal, hidden, bias=False))
        up = layers.linear(normal, hidden, bias=False)
        O.add(y, layers.linear(O.mul(gate, up), width, bias=False))
    return gb.graph


def _rms_norm(layers: Layers, x: Tensor) -> Tensor:
    mean = O.reduce_mean(O.mul(x, x), axes=-1, keepdims=True)
    return O.mul(O.mul(x, O.rsqrt(O.add(mean, 1e-5))), layers.bias(x.type.sizes[-1]))


def _attention(layers: Layers, x: Tensor, heads: int, groups: int) -> Tensor:
    """Grouped-query attention: heads / groups query heads share keys and values."""
    tokens, width = x.type.sizes
    part = width // heads
    q = _rotated(split_heads(layers.linear(x, width, bias=False), heads))
    k = _rotated(split_heads(layers.linear(x, groups * part, bias=False), groups))
    v = split_heads(layers.linear(x, groups * part, bias=False), groups)
    each = heads // groups
    q = O.reshape(q, (groups, each, tokens, part))
    k, v = (O.reshape(value, (groups, 1, tokens, part)) for value in (k, v))
    y = attend(q, k, v, causal_mask(tokens))
    return layers.linear(merge_heads(O.reshape(y, (heads, tokens, part))), width, bias=False)


def _rotated(x: Tensor) -> Tensor:
    """Rotary embedding: each pair of elements rotated by an angle that grows with the position."""
    heads, tokens, part = x.type.sizes
    half = part // 2
    angles = np.outer(np.arange(tokens), 500000.0 ** -(np.arange(half) / half))
    cosine, sine = (
        O.tensor((tokens, part), "float32", const=np.tile(table, 2).astype(np.float32))
        for table in (np.cos(angles), np.sin(angles))
    )
    first = O.slice(x, (0, 0, 0), (heads, tokens, half))
    second = O.slice(x, (0, 0, half), (heads, tokens, part))
    turned = O.concat(O.neg(second), first, axis=2)
    return O.add(O.mul(x, cosine), O.mul(turned, sine))

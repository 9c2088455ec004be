# SPDX-License-Identifier: Apache-2.0
"""GPT-2 (Radford et al., 2019), 124 M weights: one step with a cache, and a prompt at once."""

from __future__ import annotations

from functools import partial

import xtc
import xtc.ops as O
from benchmarks.networks.layers import Layers, attend, causal_mask, merge_heads, split_heads
from xtc.graph.tensor import Tensor

_gelu = partial(O.gelu, approximate="tanh")


def step(small: bool = False) -> xtc.Graph:
    """One token after 512 others; keys and values are inputs, and outputs one token longer."""
    blocks, width, heads, words, past = (2, 32, 2, 100, 8) if small else (12, 768, 12, 50257, 512)
    layers = Layers()
    token = O.tensor((1,), "int32", name="token")
    shape = (heads, past, width // heads)
    caches = [
        tuple(O.tensor(shape, "float32", name=f"{kind}{block}") for kind in ("key", "value"))
        for block in range(blocks)
    ]
    with O.graph(name="gpt2_step") as gb:
        table = layers.weight(words, width, fan_in=width)
        y = O.add(O.gather(table, token), layers.weight(1, width, fan_in=width))
        longer: list[Tensor] = []
        for cache in caches:
            y, *grown = _cached_block(layers, y, heads, cache)
            longer += grown
        logits = O.matmul(layers.layer_norm(y), table, transpose_b=True)
        O.outputs(logits, *longer)
    return gb.graph


def prefill(small: bool = False) -> xtc.Graph:
    """A prompt of 128 tokens, and the scores of the next one."""
    blocks, width, heads, words, tokens = (2, 32, 2, 100, 8) if small else (12, 768, 12, 50257, 128)
    layers = Layers()
    ids = O.tensor((tokens,), "int32", name="tokens")
    with O.graph(name="gpt2_prefill") as gb:
        table = layers.weight(words, width, fan_in=width)
        y = O.add(O.gather(table, ids), layers.weight(tokens, width, fan_in=width))
        mask = causal_mask(tokens)
        for _ in range(blocks):
            y = O.add(y, layers.self_attention(layers.layer_norm(y), heads, mask))
            y = O.add(y, layers.mlp(layers.layer_norm(y), 4 * width, _gelu))
        last = O.slice(layers.layer_norm(y), (tokens - 1, 0), (tokens, width))
        O.matmul(last, table, transpose_b=True)
    return gb.graph


def _cached_block(
    layers: Layers, x: Tensor, heads: int, cache: tuple[Tensor, ...]
) -> tuple[Tensor, Tensor, Tensor]:
    """A block, and the cache with the keys and values of this token appended."""
    width = x.type.sizes[-1]
    normal = layers.layer_norm(x)
    q, k, v = (split_heads(layers.linear(normal, width), heads) for _ in range(3))
    keys, values = (O.concat(old, new, axis=1) for old, new in zip(cache, (k, v), strict=True))
    x = O.add(x, layers.linear(merge_heads(attend(q, keys, values)), width))
    return O.add(x, layers.mlp(layers.layer_norm(x), 4 * width, _gelu)), keys, values

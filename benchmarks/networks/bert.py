# SPDX-License-Identifier: Apache-2.0
"""BERT-base (Devlin et al., 2019), one sequence of 128 tokens: 109 M weights."""

from __future__ import annotations

import xtc
import xtc.ops as O
from benchmarks.networks.layers import Layers
from xtc.graph.tensor import Tensor


def bert_base(small: bool = False) -> xtc.Graph:
    """From tokens to the pooled first token, with a padding mask."""
    layers = Layers()
    blocks, width, heads, tokens, words = (
        (2, 32, 2, 16, 100) if small else (12, 768, 12, 128, 30522)
    )
    ids = O.tensor((tokens,), "int32", name="tokens")
    mask = O.tensor((tokens,), "float32", name="mask")
    with O.graph(name="bert") as gb:
        y = O.gather(layers.weight(words, width, fan_in=width), ids)
        y = layers.layer_norm(O.add(y, layers.weight(tokens, width, fan_in=width)))
        hidden_away = O.mul(O.sub(mask, 1.0), 1e9)
        for _ in range(blocks):
            y = _block(layers, y, heads, hidden_away)
        first = O.slice(y, (0, 0), (1, width))
        O.outputs(y, O.tanh(layers.linear(first, width)))
    return gb.graph


def _block(layers: Layers, x: Tensor, heads: int, mask: Tensor) -> Tensor:
    """A block that normalizes after each residual sum, not before it."""
    x = layers.layer_norm(O.add(x, layers.self_attention(x, heads, mask)))
    return layers.layer_norm(O.add(x, layers.mlp(x, 4 * x.type.sizes[-1])))

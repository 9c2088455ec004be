# SPDX-License-Identifier: Apache-2.0
"""The fused layers that PyTorch's transformer modules use for inference."""

from __future__ import annotations

import math

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.attention import joined_heads, masked, safe_softmax, split_heads
from xtc.importers.compositions.movement import part
from xtc.importers.torch.ops.layers import linear
from xtc.importers.torch.table import writes

_OF_POSITIONS, _OF_KEYS = 0, 1  # the layout of a mask; 2 has all dimensions


@writes("_native_multi_head_attention")
def multi_head_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim: int,
    num_head: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    proj_weight: Tensor,
    proj_bias: Tensor,
    mask: Tensor | None = None,
    need_weights: bool = True,
    average_attn_weights: bool = True,
    mask_type: int | None = None,
) -> tuple[Tensor, Tensor | None]:
    """The result (batch, positions, size), and the weights, per head or averaged."""
    heads = [
        split_heads(linear(x, *_third(qkv_weight, qkv_bias, n)), num_head)
        for n, x in enumerate((query, key, value))
    ]
    scores = O.mul(O.matmul(heads[0], heads[1], transpose_b=True), _scale(embed_dim, num_head))
    if mask is None:
        weights = O.softmax(scores, axis=-1)
    else:
        allowed = O.logical_not(_to_scores(mask, mask_type))
        weights = safe_softmax(masked(scores, allowed, is_causal=False))
    result = linear(joined_heads(O.matmul(weights, heads[2])), proj_weight, proj_bias)
    if not need_weights:
        return result, None
    return result, O.reduce_mean(weights, axes=(1,)) if average_attn_weights else weights


@writes("_transformer_encoder_layer_fwd")
def encoder_layer(
    x: Tensor,
    embed_dim: int,
    num_heads: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    proj_weight: Tensor,
    proj_bias: Tensor,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    norm_weight_1: Tensor,
    norm_bias_1: Tensor,
    norm_weight_2: Tensor,
    norm_bias_2: Tensor,
    ffn_weight_1: Tensor,
    ffn_bias_1: Tensor,
    ffn_weight_2: Tensor,
    ffn_bias_2: Tensor,
    mask: Tensor | None = None,
    mask_type: int | None = None,
) -> Tensor:
    def normalized(y: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return O.layer_norm(y, weight, bias, axis=2, eps=eps)

    def attended(y: Tensor) -> Tensor:
        projection = (qkv_weight, qkv_bias, proj_weight, proj_bias)
        given = (y, y, y, embed_dim, num_heads, *projection, mask, False)
        return multi_head_attention(*given, mask_type=mask_type)[0]

    def mixed(y: Tensor) -> Tensor:
        inner = linear(y, ffn_weight_1, ffn_bias_1)
        return linear(O.gelu(inner) if use_gelu else O.relu(inner), ffn_weight_2, ffn_bias_2)

    if norm_first:
        x = O.add(x, attended(normalized(x, norm_weight_1, norm_bias_1)))
        return O.add(x, mixed(normalized(x, norm_weight_2, norm_bias_2)))
    x = normalized(O.add(x, attended(x)), norm_weight_1, norm_bias_1)
    return normalized(O.add(x, mixed(x)), norm_weight_2, norm_bias_2)


def _third(weight: Tensor, bias: Tensor, number: int) -> tuple[Tensor, Tensor]:
    """The weights and biases of queries, keys or values."""
    size = weight.type.sizes[0] // 3
    start, stop = number * size, (number + 1) * size
    return part(weight, 0, start, stop), part(bias, 0, start, stop)


def _scale(size: int, heads: int) -> float:
    return 1 / math.sqrt(size // heads)


def _to_scores(mask: Tensor, kind: int | None) -> Tensor:
    """A mask that broadcasts to (batch, heads, queries, keys); true for masked keys.

    PyTorch treats any nonzero number as true.
    """
    sizes = mask.type.sizes
    mask = mask if mask.element.kind == "bool" else O.not_equal(mask, 0.0)
    if kind == _OF_KEYS:
        return O.reshape(mask, (sizes[0], 1, 1, sizes[1]))
    return O.reshape(mask, (1, 1, *sizes)) if kind == _OF_POSITIONS else mask

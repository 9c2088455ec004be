# SPDX-License-Identifier: Apache-2.0
"""PyTorch's fused attention and its gradient."""

from __future__ import annotations

import math
from typing import Any

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.attention import masked, repeated_heads, safe_softmax
from xtc.importers.torch.ops.arithmetic import operand, result_type
from xtc.importers.torch.table import writes
from xtc.importers.values import Unsupported


@writes("scaled_dot_product_attention")
def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    if dropout_p:
        raise Unsupported(f"a dropout of {dropout_p}")
    scores = _scores(q, k, mask, is_causal, scale)
    weights = O.softmax(scores, axis=-1) if mask is None else safe_softmax(scores)
    return O.matmul(weights, _of_each_head(v, q))


@writes("_safe_softmax")
def softmax(x: Tensor, dim: int, dtype: Any = None) -> Tensor:
    if dim % x.type.rank != x.type.rank - 1:
        raise Unsupported(f"a safe softmax along dimension {dim}")
    return safe_softmax(operand(x, result_type()))


@writes("_scaled_dot_product_flash_attention_for_cpu")
def attention_and_sums(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    attn_mask: Tensor | None = None,
    scale: float | None = None,
) -> tuple[Tensor, Tensor]:
    """The result, and the log-sum-exp of the scores of each query."""
    scores = _scores(q, k, attn_mask, is_causal, scale)
    axis = (scores.type.rank - 1,)
    largest = O.reduce_max(scores, axes=axis, keepdims=True)
    powers = O.exp(O.sub(scores, largest))
    logarithm = O.add(O.log(O.reduce_sum(powers, axes=axis)), O.reshape(largest, q.shape[:-1]))
    return attention(q, k, v, attn_mask, dropout_p, is_causal, scale), logarithm


@writes("_scaled_dot_product_flash_attention_for_cpu_backward")
def attention_backward(
    gradient: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    logarithms: Tensor,
    dropout_p: float,
    is_causal: bool,
    attn_mask: Tensor | None = None,
    scale: float | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of queries, keys and values. Dao et al., FlashAttention (2022), appendix B."""
    scores = _scores(q, k, attn_mask, is_causal, scale)
    weights = O.exp(O.sub(scores, O.reshape(logarithms, (*q.shape[:-1], 1))))
    of_weights = O.matmul(gradient, _of_each_head(v, q), transpose_b=True)
    shift = O.reduce_sum(O.mul(gradient, out), axes=(q.type.rank - 1,), keepdims=True)
    of_scores = O.mul(O.mul(weights, O.sub(of_weights, shift)), _scale(q, scale))
    return (
        O.matmul(of_scores, _of_each_head(k, q)),
        _of_shared_head(O.matmul(of_scores, q, transpose_a=True), k),
        _of_shared_head(O.matmul(weights, gradient, transpose_a=True), v),
    )


def _scores(
    q: Tensor, k: Tensor, mask: Tensor | None, is_causal: bool, scale: float | None
) -> Tensor:
    scores = O.mul(O.matmul(q, _of_each_head(k, q), transpose_b=True), _scale(q, scale))
    return masked(scores, mask, is_causal=is_causal)


def _scale(q: Tensor, scale: float | None) -> float:
    return 1 / math.sqrt(q.type.sizes[-1]) if scale is None else scale


def _of_each_head(x: Tensor, q: Tensor) -> Tensor:
    """Repeat keys or values for the query heads that share them."""
    return x if q.type.rank != 4 else repeated_heads(x, q.type.sizes[1] // x.type.sizes[1])


def _of_shared_head(gradient: Tensor, like: Tensor) -> Tensor:
    """Sum the gradients of the heads that share keys or values."""
    if gradient.shape == like.shape:
        return gradient
    batch, heads, *rest = like.type.sizes
    groups = O.reshape(gradient, (batch, heads, gradient.type.sizes[1] // heads, *rest))
    return O.reduce_sum(groups, axes=(2,))

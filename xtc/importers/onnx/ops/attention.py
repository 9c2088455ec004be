# SPDX-License-Identifier: Apache-2.0
"""Attention with masks, caches and grouped heads."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.attention import joined_heads, repeated_heads, split_heads
from xtc.importers.compositions.movement import constant, expanded, padded
from xtc.importers.onnx.call import Call
from xtc.importers.onnx.table import reads
from xtc.importers.onnx.types import element_name
from xtc.importers.values import Unsupported, as_tensor


@dataclass(frozen=True)
class Heads:
    """Operands as (batch, heads, positions, size), with cached keys and values prepended.

    Attributes:
        q: queries.
        k: keys.
        v: values.
        packed: whether queries and result have the shape (batch, positions, heads * size).
        cached: number of cached positions.
    """

    q: Tensor
    k: Tensor
    v: Tensor
    packed: bool
    cached: int


@reads("Attention", 23, 24, 25)
def attention(call: Call) -> list[Tensor | None]:
    heads = _heads(call)
    present = (heads.k, heads.v)
    repeat = heads.q.type.sizes[1] // heads.k.type.sizes[1]
    k, v = (repeated_heads(x, repeat) for x in present)
    root = np.asarray(_scale(call, heads.q) ** 0.5).astype(heads.q.element.numpy).item()
    scores = O.matmul(O.mul(heads.q, root), O.mul(k, root), transpose_b=True)
    cap = float(call.attribute("softcap", 0.0))
    capped = O.mul(O.tanh(O.div(scores, cap)), cap) if cap > 0 else scores
    bias, whole_rows = _bias(call, heads)
    biased = capped if bias is None else O.add(capped, bias)
    weights = _softmax(call, biased, guarded=whole_rows)
    result = O.matmul(weights, v)
    stage = (scores, capped, biased, weights)[int(call.attribute("qk_matmul_output_mode", 0))]
    return [joined_heads(result) if heads.packed else result, *present, stage]


def _scale(call: Call, q: Tensor) -> float:
    given = float(call.attribute("scale", 0.0))
    return given if given else 1 / math.sqrt(q.type.sizes[-1])


def _heads(call: Call) -> Heads:
    q, k, v = (call.tensor(n) for n in range(3))
    packed = q.type.rank == 3
    if packed:
        queries, keys = int(call.required("q_num_heads")), int(call.required("kv_num_heads"))
        q, k, v = split_heads(q, queries), split_heads(k, keys), split_heads(v, keys)
    cached = 0
    if call.has(4) and call.has(5):
        past = call.tensor(4)
        cached = past.type.sizes[2]
        k, v = O.concat(past, k, axis=2), O.concat(call.tensor(5), v, axis=2)
    if q.type.rank != 4 or q.type.sizes[1] % k.type.sizes[1]:
        raise Unsupported(f"queries of shape {q.type.sizes} and keys of shape {k.type.sizes}")
    return Heads(q, k, v, packed, cached)


def _bias(call: Call, heads: Heads) -> tuple[Tensor | None, bool]:
    """The bias of the scores, and whether it may mask all keys of a query."""
    rows, columns = heads.q.type.sizes[2], heads.k.type.sizes[2]
    lengths = call.optional(6)
    mask = _mask(call, heads, columns)
    allowed = [_windows(call, heads, lengths)]
    if lengths is not None:
        numbers = constant(np.arange(columns).reshape(1, 1, 1, columns))
        allowed.append(O.less(numbers, _per_batch(lengths)))
    bias = mask
    for condition in allowed:
        if condition is not None:
            part = O.where(condition, np_zero(heads.q), np_lowest(heads.q))
            bias = part if bias is None else O.add(bias, part)
    if bias is not None and bias.type.rank < 2:
        bias = expanded(bias, (rows, columns))
    return bias, mask is not None or lengths is not None


def np_zero(like: Tensor) -> Tensor:
    """0 in the element type of a tensor."""
    return constant(np.zeros((), like.element.numpy))


def np_lowest(like: Tensor) -> Tensor:
    """-infinity in the element type of a tensor."""
    return constant(np.asarray(-np.inf).astype(like.element.numpy))


def _mask(call: Call, heads: Heads, columns: int) -> Tensor | None:
    mask = call.optional(3)
    if mask is None:
        return None
    missing = columns - mask.type.sizes[-1]
    if mask.element.kind == "bool":
        mask = O.where(mask, np_zero(heads.q), np_lowest(heads.q))
    elif mask.dtype != heads.q.dtype:
        mask = O.cast(mask, heads.q.dtype)
    if missing > 0:
        border = [(0, 0)] * (mask.type.rank - 1) + [(0, missing)]
        mask = as_tensor(padded(mask, border, "constant", -math.inf))
    return mask


def _per_batch(lengths: Tensor) -> Tensor:
    return O.reshape(O.cast(lengths, "int64"), (lengths.type.size, 1, 1, 1))


def _windows(call: Call, heads: Heads, lengths: Tensor | None) -> Tensor | None:
    """Mask of the keys inside each query's causal and sliding window."""
    rows, columns = heads.q.type.sizes[2], heads.k.type.sizes[2]
    left = int(call.attribute("left_window_size", -1))
    right = int(call.attribute("right_window_size", -1))
    if call.attribute("is_causal", 0):
        right = 0 if right < 0 else min(right, 0)
    if left < 0 and right < 0:
        return None
    apart = np.arange(rows)[:, None] - np.arange(columns)[None, :]
    if lengths is None or call.has(4):
        distance = apart + heads.cached
        inside = (distance <= left) | (left < 0)
        inside &= (-distance <= right) | (right < 0)
        return constant(inside)
    moved = O.add(constant(apart[None, None]), O.sub(_per_batch(lengths), rows))
    parts = []
    if left >= 0:
        parts.append(O.less_equal(moved, left))
    if right >= 0:
        parts.append(O.less_equal(O.neg(moved), right))
    return parts[0] if len(parts) == 1 else O.minimum(*parts)


def _softmax(call: Call, x: Tensor, *, guarded: bool) -> Tensor:
    """Softmax of each row in the requested precision; a fully masked row gives zeros."""
    wanted = call.attribute("softmax_precision")
    wide = x if wanted is None else O.cast(x, element_name(wanted))
    if not guarded and wide.dtype in ("float32", "float64"):
        result = O.softmax(wide, axis=-1)
    else:
        axis = (wide.type.rank - 1,)
        largest = O.reduce_max(wide, axes=axis, keepdims=True)
        safe = O.where(O.is_inf(largest), np_zero(wide), largest)
        powers = O.exp(O.sub(wide, safe))
        total = O.reduce_sum(powers, axes=axis, keepdims=True)
        result = O.div(powers, O.where(O.equal(total, 0.0), 1.0, total))
    return result if result.dtype == x.dtype else O.cast(result, x.dtype)

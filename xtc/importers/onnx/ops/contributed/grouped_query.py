# SPDX-License-Identifier: Apache-2.0
"""Grouped-query attention with a key-value cache, as in language models."""

from __future__ import annotations

import itertools

import numpy as np

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.attention import joined_heads, split_heads
from xtc.importers.compositions.movement import constant, expanded, padded, part
from xtc.importers.onnx.call import Call
from xtc.importers.onnx.ops.contributed.attention import (
    expanded_heads,
    rotated,
    rows_of,
    scale_of,
)
from xtc.importers.onnx.ops.contributed.domain import contributed
from xtc.importers.onnx.ops.contributed.normalization import rms_norm_of
from xtc.importers.onnx.ops.reduction import softmax_of
from xtc.importers.onnx.table import Result
from xtc.importers.values import Unsupported, as_tensor


@contributed("GroupQueryAttention", 1)
def group_query_attention(call: Call) -> Result:
    if call.has(12) or call.has(13) or call.is_used(3):
        raise Unsupported("quantized caches, or the scores as an output")
    q, k, v = _heads(call)
    batch, _, length, size = q.type.sizes
    total = int(call.static(6).reshape(-1)[0])
    # Cached positions of each sequence; a prompt starts with none.
    first = total == length
    after = O.add(rows_of(call.tensor(5), batch), 1)
    held = constant(np.zeros((batch, 1, 1, 1), np.int64)) if first else O.sub(after, length)
    if call.attribute("do_rotary", 0):
        q, k = (_turned(call, x, held) for x in (q, k))
    keys, values = (_cached(call, x, n, held, total) for x, n in ((k, 3), (v, 4)))
    repeated = [expanded_heads(x, q.type.sizes[1]) for x in (keys, values)]
    scores = O.matmul(O.mul(q, scale_of(call, size)), repeated[0], transpose_b=True)
    cap = float(call.attribute("softcap", 0.0))
    if cap > 0:
        scores = O.mul(O.tanh(O.div(scores, cap)), cap)
    visible = _visible(call, held, length, keys.type.sizes[2])
    lowest = np.asarray(-65504.0 if q.dtype == "float16" else -3e38, q.element.numpy)
    scores = O.where(visible, scores, constant(lowest))
    if call.has(10):
        scores = O.add(scores, call.tensor(10))
    weights = _weights(call, scores)
    return [joined_heads(O.matmul(weights, repeated[1])), keys, values]


def _heads(call: Call) -> list[Tensor]:
    """Queries, keys and values as (batch, heads, positions, size), normalized if requested."""
    queries, shared = int(call.required("num_heads")), int(call.required("kv_num_heads"))
    x = call.tensor(0)
    if call.has(1):
        counts, given = (queries, shared, shared), [x, call.tensor(1), call.tensor(2)]
    else:
        size = x.type.sizes[-1] // (queries + 2 * shared)
        stops = (0, queries * size, (queries + shared) * size, (queries + 2 * shared) * size)
        counts = (queries, shared, shared)
        given = [part(x, 2, a, b) for a, b in itertools.pairwise(stops)]
    heads = [split_heads(y, count) for y, count in zip(given, counts, strict=True)]
    eps = float(call.attribute("qk_norm_epsilon", 1e-6))
    for number, weight in ((0, 14), (1, 15)):
        if call.has(weight):
            heads[number] = rms_norm_of(heads[number], call.tensor(weight), eps)
    return heads


def _turned(call: Call, x: Tensor, held: Tensor) -> Tensor:
    batch, length = x.type.sizes[0], x.type.sizes[2]
    if call.has(9):
        positions = call.tensor(9)
    else:
        numbers = constant(np.arange(length, dtype=np.int64)[None])
        positions = O.add(O.reshape(held, (batch, 1)), numbers)
    cos, sin = call.tensor(7), call.tensor(8)
    width = 2 * cos.type.sizes[-1]
    return rotated(x, positions, cos, sin, width, bool(call.attribute("rotary_interleaved", 0)))


def _cached(call: Call, new: Tensor, past: int, held: Tensor, total: int) -> Tensor:
    """The cache with the new rows appended to each sequence, then zeros."""
    if not call.has(past) or 0 in call.shape(past):
        return new
    old = call.tensor(past)
    batch, heads, length, size = new.type.sizes
    room = max(old.type.sizes[2], total)
    border = [(0, 0), (0, 0), (0, room - old.type.sizes[2]), (0, 0)]
    wide = as_tensor(padded(old, border, "constant", 0.0))
    numbers = constant(np.arange(room, dtype=np.int64).reshape(1, 1, room, 1))
    since = O.sub(numbers, held)
    source = O.minimum(O.maximum(since, 0), length - 1)
    moved = O.gather_elements(new, expanded(source, (batch, heads, room, size)), axis=2)
    late = O.where(O.less(since, length), moved, constant(np.zeros((), new.element.numpy)))
    return O.where(O.less(since, 0), wide, late)


def _visible(call: Call, held: Tensor, length: int, columns: int) -> Tensor:
    """Mask of the keys that each query attends to: up to its own position, within the window."""
    apart = np.arange(columns)[None, :] - np.arange(length)[:, None]
    ahead = O.sub(constant(apart.reshape(1, 1, length, columns)), held)
    window = int(call.attribute("local_window_size", -1))
    if not call.attribute("causal", 1):
        last = O.sub(O.add(held, length), constant(np.arange(columns).reshape(1, 1, 1, columns)))
        return O.greater(expanded(last, (held.type.sizes[0], 1, length, columns)), 0)
    seen = O.less_equal(ahead, 0)
    return seen if window < 0 else O.minimum(seen, O.greater(ahead, -window))


def _weights(call: Call, scores: Tensor) -> Tensor:
    """The softmax; an attention sink, if present, takes a share of each row."""
    if not (call.has(11) or int(call.attribute("smooth_softmax", 0)) == 1):
        return softmax_of(scores, 3)
    batch, heads, rows, columns = scores.type.sizes
    sink = call.tensor(11) if call.has(11) else constant(np.zeros(heads, scores.element.numpy))
    column = expanded(O.reshape(sink, (1, heads, 1, 1)), (batch, heads, rows, 1))
    return part(softmax_of(O.concat(scores, column, axis=3), 3), 3, 0, columns)

# SPDX-License-Identifier: Apache-2.0
"""Attention with projections, masks and caches in one node."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.attention import joined_heads, repeated_heads, split_heads
from xtc.importers.compositions.movement import constant, expanded, part
from xtc.importers.onnx.call import Call
from xtc.importers.onnx.ops.contributed.domain import contributed
from xtc.importers.onnx.ops.reduction import softmax_of
from xtc.importers.onnx.table import Result
from xtc.importers.values import Unsupported


def attend(q: Tensor, k: Tensor, v: Tensor, scale: float, biases: Sequence[Tensor]) -> Tensor:
    """softmax(q k^T * scale + biases) v for operands (batch, heads, positions, size)."""
    scores = O.matmul(O.mul(q, scale), k, transpose_b=True)
    for bias in biases:
        scores = O.add(scores, bias)
    return O.matmul(softmax_of(scores, 3), v)


def scale_of(call: Call, size: int) -> float:
    """The node's scale of the scores; 1 / sqrt(size) by default."""
    return float(call.attribute("scale", 0.0)) or 1 / math.sqrt(size)


def causal(q: Tensor, k: Tensor) -> Tensor:
    """The bias that masks later keys; the last query is aligned with the last key."""
    rows, columns = q.type.sizes[2], k.type.sizes[2]
    later = np.arange(columns)[None, :] > np.arange(rows)[:, None] + (columns - rows)
    return hidden(later, q)


def hidden(keys: np.ndarray[tuple[int, ...], np.dtype[np.bool_]], like: Tensor) -> Tensor:
    """A bias: the lowest number for masked keys, 0 elsewhere."""
    lowest = -65504.0 if like.dtype == "float16" else -3e38
    return constant(np.where(keys, lowest, 0.0).astype(like.element.numpy))


def key_mask(mask: Tensor, q: Tensor, k: Tensor, filter_value: float) -> Tensor:
    """The bias of a mask, which may have any of the supported shapes.

    (batch): lengths; (2 * batch): ends, then starts; (3 * batch + 2): lengths first; (batch, keys);
    (batch, queries, keys); (batch, 1, most, most).
    """
    (batch, _, rows, _), columns = q.type.sizes, k.type.sizes[2]
    rank = mask.type.rank
    if rank == 1:
        seen = _mask_between(mask, batch, columns)
    elif rank == 4:
        seen = O.slice(mask, (0, 0, columns - rows, 0), (batch, 1, columns, columns))
    else:
        sizes = mask.type.sizes
        seen = O.reshape(mask, (sizes[0], 1, 1 if rank == 2 else sizes[1], sizes[-1]))
    if seen.element.kind != "bool":
        seen = O.greater(seen, 0)
    zero, low = (constant(np.asarray(x, q.element.numpy)) for x in (0.0, filter_value))
    return O.where(seen, zero, low)


def _mask_between(mask: Tensor, batch: int, columns: int) -> Tensor:
    """Mask of the keys between the starts and ends in a vector."""
    numbers = constant(np.arange(columns, dtype=np.int32).reshape(1, 1, 1, columns))
    ends = O.reshape(O.cast(part(mask, 0, 0, batch), "int32"), (batch, 1, 1, 1))
    seen = O.less(numbers, ends)
    if mask.type.size == 2 * batch:
        starts = O.reshape(O.cast(part(mask, 0, batch, 2 * batch), "int32"), (batch, 1, 1, 1))
        seen = O.minimum(seen, O.greater_equal(numbers, starts))
    return seen


def _biases(call: Call, q: Tensor, k: Tensor, mask: int, bias: int) -> list[Tensor]:
    """All biases of the scores: padding mask, causal mask, and the node's own bias."""
    low = float(call.attribute("mask_filter_value", -10000.0))
    found = [key_mask(call.tensor(mask), q, k, low)] if call.has(mask) else []
    if call.attribute("unidirectional", 0) and q.type.sizes[2] > 1:
        found.append(causal(q, k))
    return [*found, call.tensor(bias)] if call.has(bias) else found


@contributed("Attention", 1)
def attention(call: Call) -> Result:
    if call.attribute("do_rotary", 0) or call.has(6):
        raise Unsupported("rotated keys, or caches shared with outputs")
    projected = O.matmul(call.tensor(0), call.tensor(1))
    if call.has(2):
        projected = O.add(projected, call.tensor(2))
    return projected_attention(call, projected, mask=3, past=4, bias=5)


def projected_attention(call: Call, x: Tensor, *, mask: int, past: int, bias: int) -> Result:
    """Attention of packed queries, keys and values; the keywords are positions of operands."""
    heads, width = int(call.required("num_heads")), x.type.sizes[-1]
    sizes = [int(n) for n in call.attribute("qkv_hidden_sizes", [width // 3] * 3)]
    starts = (0, sizes[0], sizes[0] + sizes[1], width)
    q, k, v = (
        split_heads(part(x, 2, start, stop), heads) for start, stop in itertools.pairwise(starts)
    )
    if call.has(past):
        cache = call.tensor(past)
        old = [O.reshape(part(cache, 0, n, n + 1), cache.type.sizes[1:]) for n in (0, 1)]
        k, v = O.concat(old[0], k, axis=2), O.concat(old[1], v, axis=2)
    result = attend(q, k, v, scale_of(call, q.type.sizes[-1]), _biases(call, q, k, mask, bias))
    if not call.is_used(1):
        return [joined_heads(result)]
    whole = [O.reshape(y, (1, *y.type.sizes)) for y in (k, v)]
    return [joined_heads(result), O.concat(*whole, axis=0)]


@contributed("MultiHeadAttention", 1)
def multi_head_attention(call: Call) -> Result:
    if call.has(8) or call.has(9) or call.is_used(3):
        raise Unsupported("caches shared with outputs, or the scores as an output")
    q, k, v = _heads(call, int(call.required("num_heads")))
    if call.has(6) and call.has(7):
        k, v = O.concat(call.tensor(6), k, axis=2), O.concat(call.tensor(7), v, axis=2)
    biases = _biases(call, q, k, mask=4, bias=5)
    return [joined_heads(attend(q, k, v, scale_of(call, q.type.sizes[-1]), biases)), k, v]


def _heads(call: Call, heads: int) -> list[Tensor]:
    """Queries, keys and values as (batch, heads, positions, size), with biases added."""
    given = _unpacked(call)
    if call.has(3):
        bias, start = call.tensor(3), 0
        for number, x in enumerate(given):
            width = x.type.sizes[-1] * (x.type.sizes[1] if x.type.rank == 4 else 1)
            if x.type.rank == 3:
                given[number] = O.add(x, part(bias, 0, start, start + width))
            start += width
    return [x if x.type.rank == 4 else split_heads(x, heads) for x in given]


def _unpacked(call: Call) -> list[Tensor]:
    """Queries, keys and values from packed or separate operands."""
    first = call.tensor(0)
    if first.type.rank == 5:
        return _split(first)
    if not call.has(1):
        raise Unsupported("no keys")
    second = call.tensor(1)
    if second.type.rank == 5:
        return [first, *_split(second)]
    return [first, second, call.tensor(2)]


def _split(x: Tensor) -> list[Tensor]:
    """Split (batch, positions, heads, n, size) into n tensors (batch, positions, heads * size)."""
    batch, positions, heads, count, size = x.type.sizes
    shape = (batch, positions, heads * size)
    return [O.reshape(part(x, 3, n, n + 1), shape) for n in range(count)]


@contributed("RotaryEmbedding", 1)
def rotary_embedding(call: Call) -> Result:
    x, positions, cos, sin = (call.tensor(n) for n in range(4))
    width = int(call.attribute("rotary_embedding_dim", 0))
    heads = int(call.attribute("num_heads", 0))
    packed = x.type.rank == 3
    if packed:
        x = split_heads(x, heads or x.type.sizes[-1] // (2 * cos.type.sizes[-1]))
    length = x.type.sizes[2]
    if positions.type.rank == 1:
        positions = O.add(
            O.reshape(positions, (1, 1)), constant(np.arange(length, dtype=np.int64)[None])
        )
    result = rotated(x, positions, cos, sin, width, bool(call.attribute("interleaved", 0)))
    return joined_heads(result) if packed else result


def rotated(
    x: Tensor, positions: Tensor, cos: Tensor, sin: Tensor, width: int, interleaved: bool
) -> Tensor:
    """Apply rotary embedding to the first `width` elements (0: all) of the last dimension."""
    batch, heads, length, size = x.type.sizes
    width, half = width or size, (width or size) // 2
    rows = [part(O.gather(table, positions, axis=0), 2, 0, half) for table in (cos, sin)]
    c, s = (O.reshape(row, (row.type.sizes[0], 1, length, half)) for row in rows)
    turned = part(x, 3, 0, width)
    if interleaved:
        pairs = O.reshape(turned, (batch, heads, length, half, 2))
        a, b = (O.reshape(part(pairs, 4, n, n + 1), (batch, heads, length, half)) for n in (0, 1))
    else:
        a, b = part(turned, 3, 0, half), part(turned, 3, half, width)
    pair = [O.sub(O.mul(a, c), O.mul(b, s)), O.add(O.mul(a, s), O.mul(b, c))]
    if interleaved:
        wide = [O.reshape(y, (batch, heads, length, half, 1)) for y in pair]
        whole = O.reshape(O.concat(*wide, axis=4), (batch, heads, length, width))
    else:
        whole = O.concat(*pair, axis=3)
    return whole if width == size else O.concat(whole, part(x, 3, width, size), axis=3)


def expanded_heads(x: Tensor, heads: int) -> Tensor:
    """Repeat keys or values for the query heads that share them."""
    return repeated_heads(x, heads // x.type.sizes[1])


def rows_of(lengths: Tensor, batch: int) -> Tensor:
    """One number per sequence of a batch, shaped (batch, 1, 1, 1) for broadcasting."""
    whole = O.reshape(O.cast(lengths, "int64"), (lengths.type.size, 1, 1, 1))
    return whole if lengths.type.size == batch else expanded(whole, (batch, 1, 1, 1))

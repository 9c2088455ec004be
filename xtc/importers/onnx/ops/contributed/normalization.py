# SPDX-License-Identifier: Apache-2.0
"""Normalization of sums, embeddings and channel groups."""

from __future__ import annotations

import numpy as np

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.movement import constant, part
from xtc.importers.compositions.windows import channels_first, channels_last
from xtc.importers.onnx.call import Call
from xtc.importers.onnx.ops.contributed.domain import contributed
from xtc.importers.onnx.ops.normalization import grouped
from xtc.importers.onnx.table import Result, reads
from xtc.importers.values import Unsupported


@contributed("SkipLayerNormalization", 1)
def skip_layer_norm(call: Call) -> Result:
    total = _sum(call, 4)
    result = O.layer_norm(total, call.tensor(2), call.optional(3), eps=_epsilon(call))
    return [result, None, None, total]


@contributed("SkipSimplifiedLayerNormalization", 1)
def skip_rms_norm(call: Call) -> Result:
    total = _sum(call, 3)
    return [rms_norm_of(total, call.tensor(2), _epsilon(call)), None, None, total]


@reads("SimplifiedLayerNormalization", 1, folds=False)
def rms_norm(call: Call) -> Result:
    x = call.tensor(0)
    if call.axis(default=-1) != x.type.rank - 1:
        raise Unsupported("a normalization of more than the last dimension")
    return rms_norm_of(x, call.tensor(1), _epsilon(call))


def _sum(call: Call, bias: int) -> Tensor:
    total = O.add(call.tensor(0), call.tensor(1))
    return O.add(total, call.tensor(bias)) if call.has(bias) else total


def _epsilon(call: Call, default: float = 1e-5) -> float:
    return float(call.attribute("epsilon", default))


def rms_norm_of(x: Tensor, gamma: Tensor, eps: float) -> Tensor:
    """RMS normalization of rows, scaled by `gamma`."""
    squares = O.reduce_mean(O.mul(x, x), axes=(-1,), keepdims=True)
    return O.mul(O.mul(x, O.rsqrt(O.add(squares, eps))), gamma)


@contributed("EmbedLayerNormalization", 1)
def embed_layer_norm(call: Call) -> Result:
    """The normalized sum of word, position and segment embeddings, and the lengths by the mask."""
    ids = call.tensor(0)
    batch, length = ids.type.sizes
    total = O.gather(call.tensor(2), ids, axis=0)
    if call.has(8):
        total = O.add(total, O.gather(call.tensor(3), call.tensor(8), axis=0))
    else:
        total = O.add(total, part(call.tensor(3), 0, 0, length))
    if call.has(1) and call.has(4):
        total = O.add(total, O.gather(call.tensor(4), call.tensor(1), axis=0))
    result = O.layer_norm(total, call.tensor(5), call.tensor(6), eps=_epsilon(call, 1e-12))
    lengths = constant(np.zeros(batch, np.int32))
    if call.has(7):
        lengths = O.cast(O.reduce_sum(O.cast(call.tensor(7), "int32"), axes=(1,)), "int32")
    return [result, lengths, total]


@contributed("GroupNorm", 1)
def group_norm(call: Call) -> Result:
    return _group_norm(call, call.tensor(0))


@contributed("SkipGroupNorm", 1)
def skip_group_norm(call: Call) -> Result:
    x, skip = call.tensor(0), call.tensor(3)
    if skip.type.rank == 2:
        skip = O.reshape(skip, (skip.type.sizes[0], 1, 1, skip.type.sizes[1]))
    total = O.add(x, skip)
    total = O.add(total, call.tensor(4)) if call.has(4) else total
    return [_group_norm(call, total), total]


def _group_norm(call: Call, x: Tensor) -> Tensor:
    last = bool(call.attribute("channels_last", 1))
    image = channels_first(x) if last else x
    groups, eps = int(call.required("groups")), _epsilon(call)
    result = grouped(image, groups, call.tensor(1), call.tensor(2), eps)
    if int(call.attribute("activation", 0)):
        result = O.silu(result)
    return channels_last(result) if last else result

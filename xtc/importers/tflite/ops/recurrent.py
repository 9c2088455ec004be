# SPDX-License-Identifier: Apache-2.0
"""Layers that keep a state tensor between calls."""

from __future__ import annotations

import numpy as np

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.movement import part
from xtc.importers.tflite.call import Call, known, limited, limits_of
from xtc.importers.tflite.table import reads
from xtc.importers.values import Unsupported, as_tensor

_FEATURES, _TIME, _BIAS, _STATE = 1, 2, 3, 4  # operands of SVDF


@reads("SVDF")
def svdf(call: Call) -> Tensor:
    """SVDF: features of each frame, kept for a window of frames, and their weighted sums over time.

    In int8, features are int16, as in TensorFlow Lite's reference/svdf.h.
    """
    options, x, state = call.options("SVDFOptions"), call.tensor(0), call.tensor(_STATE)
    batch = x.type.sizes[0]
    filters, frames = call.shape(_TIME)
    rank = options.Rank()
    if (
        call.assign is None
        or rank < 1
        or filters % rank
        or state.type.size != batch * filters * frames
    ):
        raise Unsupported(f"rank {rank}, a state of shape {state.type.sizes}")
    newest = _quantized_features(call, x) if call.quantized else _features(call, x)
    old = O.reshape(state, (batch, filters, frames))
    column = O.reshape(newest, (batch, filters, 1))
    window = O.concat(part(old, 2, 1, frames), column, axis=2) if frames > 1 else column
    call.assign(_STATE, O.reshape(window, state.type.sizes))
    if call.quantized:
        return _quantized_sums(call, window, rank)
    summed = _ranked(O.mul(window, as_tensor(known(call, _TIME))), rank)
    biased = O.add(summed, call.tensor(_BIAS)) if call.has(_BIAS) else summed
    return limited(biased, limits_of(options.FusedActivationFunction()))


def _features(call: Call, x: Tensor) -> Tensor:
    weights = np.ascontiguousarray(known(call, _FEATURES).T)
    return O.matmul(x, as_tensor(weights))


def _quantized_features(call: Call, x: Tensor) -> Tensor:
    q, w, state = call.scale(0), call.scale(_FEATURES), call.scale(_STATE)
    weights = call.array(_FEATURES)
    if weights.dtype != np.int8 or call.operand(_STATE).dtype != "int16" or w.zero_point:
        raise Unsupported(f"weights of {weights.dtype}, a state of {call.operand(_STATE).dtype}")
    shift = (-q.zero_point * weights.astype(np.int64).sum(axis=1)).astype(np.int32)
    total = O.matmul(x, as_tensor(np.ascontiguousarray(weights.T)))
    product = np.float32(np.float32(q.scale) * np.float32(w.scale))
    factor = float(product / np.float32(state.scale))
    return O.requantize(O.add(total, as_tensor(shift)), factor, dtype="int16")


def _quantized_sums(call: Call, window: Tensor, rank: int) -> Tensor:
    state, w, y = call.scale(_STATE), call.scale(_TIME), call.result_scale
    products = O.mul(O.cast(window, "int32"), as_tensor(call.array(_TIME).astype(np.int32)))
    total = _ranked(products, rank)
    if call.has(_BIAS):
        total = O.add(total, call.tensor(_BIAS))
    product = np.float32(np.float32(state.scale) * np.float32(w.scale))
    factor = float(product / np.float32(y.scale))
    return O.requantize(total, factor, zero_point=y.zero_point)


def _ranked(products: Tensor, rank: int) -> Tensor:
    """Sums over time and over the `rank` filters of each unit."""
    batch, filters, frames = products.type.sizes
    split = O.reshape(products, (batch, filters // rank, rank * frames))
    return O.reduce_sum(split, axes=(2,))

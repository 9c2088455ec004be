# SPDX-License-Identifier: Apache-2.0
"""Fourier transforms, as products with matrices of sines and cosines, and what goes with them."""

from __future__ import annotations

import numpy as np

import xtc.ops as O
from xtc.core.types import ELEMENT_TYPES
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.movement import constant, moved_axis, padded, part, stacked
from xtc.importers.onnx.call import Call, whole_axis
from xtc.importers.onnx.table import reads
from xtc.importers.onnx.types import element_name
from xtc.importers.values import Array, Unsupported, as_tensor

LONGEST = 8192  # points of a transform


@reads("DFT", 17, 20)
def dft(call: Call) -> Tensor:
    x = call.tensor(0)
    axis = int(call.attribute("axis", 1)) if call.version == 17 else -2
    if call.version == 20 and call.has(2):
        axis = call.ints(2)[0]
    axis = whole_axis(axis, x.type.rank)
    inverse, onesided = bool(call.attribute("inverse", 0)), bool(call.attribute("onesided", 0))
    size = x.type.sizes[axis]
    default = 2 * (size - 1) if inverse and onesided else size
    length = call.ints(1)[0] if call.has(1) else default
    if not 1 <= length <= LONGEST:
        raise Unsupported(f"a transform of {length} points")
    return transformed(x, axis, length, inverse=inverse, onesided=onesided)


def transformed(x: Tensor, axis: int, length: int, *, inverse: bool, onesided: bool) -> Tensor:
    """The transform along one axis; the last dimension holds real parts, or imaginary ones too.

    Formed in float64: what cancels would leave the rounding errors of the sums.
    """
    last = x.type.rank - 1
    parts = x.type.sizes[last]
    if parts not in (1, 2) or axis == last:
        raise Unsupported(f"a signal of shape {x.type.sizes}")
    half = inverse and onesided
    wanted = length // 2 + 1 if half else length
    border = [(0, 0)] * x.type.rank
    border[axis] = (0, wanted - x.type.sizes[axis])
    signal = as_tensor(padded(x, border, "constant", 0))
    # (..., points, parts): one product with (points * parts, frequencies * parts).
    moved = moved_axis(signal, axis, last - 1)
    lead = moved.type.sizes[:-2]
    matrix = _inverse_half(length) if half else _matrix(length, parts, inverse, onesided)
    points = O.cast(O.reshape(moved, (-1, wanted * parts)), "float64")
    flat = O.cast(O.matmul(points, constant(matrix)), x.dtype)
    out = 1 if half else 2
    result = O.reshape(flat, (*lead, matrix.shape[1] // out, out))
    return moved_axis(result, last - 1, axis)


def _matrix(length: int, parts: int, inverse: bool, onesided: bool) -> Array:
    """(time, part) x (frequency, part): the real form of complex factors."""
    count = length // 2 + 1 if onesided else length
    sign = 2j if inverse else -2j
    turns = np.exp(sign * np.pi * np.outer(np.arange(length), np.arange(count)) / length)
    turns = turns / length if inverse else turns
    rows = [np.stack([turns.real, turns.imag], -1), np.stack([-turns.imag, turns.real], -1)]
    matrix: Array = np.stack(rows[:parts], 1).reshape(length * parts, count * 2)
    return matrix


def _inverse_half(length: int) -> Array:
    """From the frequencies 0 to length // 2 of a real signal to the signal."""
    count = length // 2 + 1
    angles = 2 * np.pi * np.outer(np.arange(count), np.arange(length)) / length
    weight = np.full(count, 2.0)
    weight[0] = 1
    if length % 2 == 0:
        weight[-1] = 1
    rows = np.stack([np.cos(angles), -np.sin(angles)], 1) * weight[:, None, None] / length
    matrix: Array = rows.reshape(count * 2, length)
    return matrix


@reads("STFT", 17)
def stft(call: Call) -> Tensor:
    x = call.tensor(0)
    hop = call.ints(1)[0]
    window = call.optional(2)
    length = call.ints(3)[0] if call.has(3) else 0
    length = window.type.size if window is not None else length
    if not 1 <= length <= min(x.type.sizes[1], LONGEST) or hop < 1:
        raise Unsupported(f"frames of {length} every {hop}")
    count = (x.type.sizes[1] - length) // hop + 1
    frames = stacked([part(x, 1, n * hop, n * hop + length) for n in range(count)], 1)
    if window is not None:
        frames = O.mul(frames, O.reshape(window, (length, 1)))
    onesided = bool(call.attribute("onesided", 1))
    return transformed(frames, 2, length, inverse=False, onesided=onesided)


@reads("MelWeightMatrix", 17, folds=False)
def mel_weight_matrix(call: Call) -> Array:
    bins, length, rate = (int(call.static(n).reshape(-1)[0]) for n in range(3))
    low, high = (float(call.static(n).reshape(-1)[0]) for n in (3, 4))
    dtype = element_name(call.attribute("output_datatype", 1))

    def mel(frequency: Array) -> Array:
        return 2595 * np.log10(1 + frequency / 700)

    if not 1 <= bins <= LONGEST or not 1 <= length <= 1 << 20 or not 0 <= low <= high:
        raise Unsupported(f"{bins} bins of {length} points from {low} to {high}")
    step = (mel(np.array(high)) - mel(np.array(low))) / (bins + 2)
    edges = mel(np.array(low)) + np.arange(bins + 2) * step
    centres = ((length + 1) * (700 * (10 ** (edges / 2595) - 1)) // rate).astype(int)
    result = np.zeros((length // 2 + 1, bins))
    for n in range(bins):
        start, centre, stop = centres[n : n + 3]
        if centre == start:
            result[centre : centre + 1, n] = 1
        else:
            rising = np.arange(start, centre + 1)
            kept = rising < len(result)
            result[rising[kept], n] = (rising[kept] - start) / (centre - start)
        if stop > centre:
            falling = np.arange(centre, stop)
            kept = falling < len(result)
            result[falling[kept], n] = (stop - falling[kept]) / (stop - centre)
    return result.astype(ELEMENT_TYPES[dtype].numpy)

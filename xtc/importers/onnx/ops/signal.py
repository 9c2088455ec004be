# SPDX-License-Identifier: Apache-2.0
"""Fourier transforms and mel weights."""

from __future__ import annotations

import numpy as np

import xtc.ops as O
from xtc.core.types import ELEMENT_TYPES
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.fourier import LONGEST, transformed
from xtc.importers.compositions.movement import part, stacked
from xtc.importers.onnx.call import Call, whole_axis
from xtc.importers.onnx.table import reads
from xtc.importers.onnx.types import element_name
from xtc.importers.values import Array, Unsupported


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
    centers = ((length + 1) * (700 * (10 ** (edges / 2595) - 1)) // rate).astype(int)
    result = np.zeros((length // 2 + 1, bins))
    for n in range(bins):
        start, center, stop = centers[n : n + 3]
        if center == start:
            result[center : center + 1, n] = 1
        else:
            rising = np.arange(start, center + 1)
            kept = rising < len(result)
            result[rising[kept], n] = (rising[kept] - start) / (center - start)
        if stop > center:
            falling = np.arange(center, stop)
            kept = falling < len(result)
            result[falling[kept], n] = (stop - falling[kept]) / (stop - center)
    return result.astype(ELEMENT_TYPES[dtype].numpy)

# SPDX-License-Identifier: Apache-2.0
"""Resizing of images."""

from __future__ import annotations

import numpy as np

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.movement import constant, same
from xtc.importers.tflite.call import Call
from xtc.importers.tflite.table import reads
from xtc.importers.tflite.windows import images
from xtc.importers.values import Array, Unsupported

_POINT = 10  # fraction bits of fixed-point positions


def _positions(size: int, wanted: int, options: object, *, nearest: bool) -> Array:
    """The position of each output element in the image, in float32 as in the kernels."""
    if wanted < 1 or wanted > 1 << 16:
        raise Unsupported(f"a size of {wanted}")
    align = bool(options.AlignCorners())  # type: ignore[attr-defined]
    centers = bool(options.HalfPixelCenters())  # type: ignore[attr-defined]
    scale = np.float32(size) / np.float32(wanted)
    if align and wanted > 1:
        scale = np.float32(size - 1) / np.float32(wanted - 1)
    numbers = np.arange(wanted, dtype=np.float32)
    half = np.float32(0.5)
    if not centers:
        return np.asarray(numbers * scale)
    return np.asarray((numbers + half) * scale - (np.float32(0) if nearest else half))


@reads("RESIZE_NEAREST_NEIGHBOR")
def resize_nearest(call: Call) -> Tensor:
    options, x = call.options("ResizeNearestNeighborOptions"), call.tensor(0)
    images(x)
    for d, wanted in zip((1, 2), call.ints(1), strict=True):
        size = x.type.sizes[d]
        at = _positions(size, wanted, options, nearest=True)
        whole = np.floor(at + np.float32(0.5)) if options.AlignCorners() else np.floor(at)
        indices = np.clip(whole, 0, size - 1).astype(np.int64)
        if (indices != np.arange(size)[: len(indices)]).any() if wanted == size else True:
            x = O.gather(x, constant(indices), axis=d)
    return x if x.producer is not None else same(x)


@reads("RESIZE_BILINEAR")
def resize_bilinear(call: Call) -> Tensor:
    options, x = call.options("ResizeBilinearOptions"), call.tensor(0)
    images(x)
    if x.dtype == "int8":
        return _bilinear_integers(call, x, options)
    if x.dtype != "float32":
        raise Unsupported(f"an image of {x.dtype}")
    for d, wanted in zip((1, 2), call.ints(1), strict=True):
        size = x.type.sizes[d]
        at = _positions(size, wanted, options, nearest=False)
        low = np.floor(at)
        indices = np.clip(np.stack([low, low + 1]), 0, size - 1).astype(np.int64)
        share = np.clip(at, 0, None) - np.clip(low, 0, None)
        weights = np.stack([1 - share, share]).astype(np.float32)
        x = O.resample(x, constant(indices), constant(weights), axis=d)
    return x


def _bilinear_integers(call: Call, x: Tensor, options: object) -> Tensor:
    """Fixed-point interpolation with 10 fraction bits; means round halves away from zero."""
    if call.scale(0) != call.result_scale:
        raise Unsupported("operand and result of different scales")
    if call.operand(0).is_unsigned:
        raise Unsupported("an image of uint8")
    x = O.cast(x, "int32")
    for d, wanted in zip((1, 2), call.ints(1), strict=True):
        at = _fixed_positions(x.type.sizes[d], wanted, options)
        low = np.maximum(at >> _POINT, 0)
        high = np.minimum((at + (1 << _POINT) - 1) >> _POINT, x.type.sizes[d] - 1)
        share = at - (low << _POINT)
        shape = [1, 1, 1, 1]
        shape[d] = wanted
        weights = ((1 << _POINT) - share, share)
        near, far = (
            O.mul(O.gather(x, constant(index), axis=d), constant(w.astype(np.int32).reshape(shape)))
            for index, w in zip((low, high), weights, strict=True)
        )
        x = O.add(near, far)
    unit = 1 << (2 * _POINT)
    half = O.sub(O.mul(O.cast(O.greater(x, 0), "int32"), unit), unit // 2)
    return O.cast(O.trunc_div(O.add(x, half), unit), "int8")


def _fixed_positions(size: int, wanted: int, options: object) -> Array:
    """As in ComputeInterpolationValuesInteger of TensorFlow Lite's reference kernel."""
    if wanted < 1 or wanted > 1 << 16:
        raise Unsupported(f"a size of {wanted}")
    scale = ((size << _POINT) + wanted // 2) // wanted
    if options.AlignCorners() and wanted > 1:  # type: ignore[attr-defined]
        scale = (((size - 1) << _POINT) + (wanted - 1) // 2) // (wanted - 1)
    at = np.arange(wanted, dtype=np.int64) * scale
    if options.HalfPixelCenters():  # type: ignore[attr-defined]
        at = at + scale // 2 - (1 << (_POINT - 1))
    return np.asarray(at)

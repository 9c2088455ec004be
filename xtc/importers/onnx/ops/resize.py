# SPDX-License-Identifier: Apache-2.0
"""Resize: resampling with weights that are known at import."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.movement import constant, same
from xtc.importers.onnx.call import Call, whole_axis
from xtc.importers.onnx.table import reads
from xtc.importers.values import Array, Unsupported

_MODES = (
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
)
MOST_TAPS = 4096


@dataclass(frozen=True)
class Axis:
    """How one dimension is resized.

    Attributes:
        size: size before.
        output: size after.
        scale: the factor for computing positions.
        start: start of the crop, as a fraction of the dimension.
        end: end of the crop, as a fraction.
    """

    size: int
    output: int
    scale: float
    start: float = 0.0
    end: float = 1.0

    def positions(self, mode: str) -> Array:
        """The position of each new element in the old dimension."""
        new = np.arange(self.output, dtype=np.float64)
        half = (new + 0.5) / self.scale - 0.5
        last = self.size - 1
        if mode == "align_corners":
            width = self.scale * self.size  # may be fractional, unlike the output size
            return new * last / (width - 1) if width != 1 else new * 0
        if mode == "asymmetric":
            return new / self.scale
        if mode == "tf_half_pixel_for_nn":
            return (new + 0.5) / self.scale
        if mode == "pytorch_half_pixel":
            return half if self.output > 1 else np.full(1, -0.5)
        if mode == "half_pixel_symmetric":
            return self.size / 2 * (1 - self.output / (self.scale * self.size)) + half
        if mode == "tf_crop_and_resize":
            if self.output == 1:
                return np.full(1, (self.end - self.start) * last / 2)
            step = (self.end - self.start) * last / (self.output - 1)
            return self.start * last + new * step
        return half


@reads("Upsample", 7, 9)
def upsample(call: Call) -> Tensor:
    scales = call.attributes["scales"] if call.version == 7 else call.static(1)
    mode = call.choice("mode", "nearest", "nearest", "linear", "bilinear")
    axes = [
        Axis(size, math.floor(size * float(scale)), float(scale))
        for size, scale in zip(call.shape(), scales, strict=True)
    ]
    x = call.tensor(0)
    for d, axis in enumerate(axes):
        if mode == "nearest":
            x = _nearest(x, d, axis, axis.positions("asymmetric"), "floor")
        elif axis.scale != 1:
            x = _weighted(x, d, axis, axis.positions("asymmetric"), _linear, exclude=False)
    return same(x)


@reads("Resize", 10, 11, 13, 18, 19)
def resize(call: Call) -> Tensor:
    x, rank = call.tensor(0), call.rank()
    mode = call.choice("mode", "nearest", "nearest", "linear", "cubic")
    default = "asymmetric" if call.version == 10 else "half_pixel"
    coordinates = call.choice("coordinate_transformation_mode", default, *_MODES)
    axes = {whole_axis(int(a), rank): n for n, a in enumerate(call.attribute("axes", range(rank)))}
    resized = _axes(call, list(axes), coordinates)
    outside = None
    for d, axis in zip(axes, resized, strict=True):
        if axis.size == axis.output and axis.scale == 1 and (axis.start, axis.end) == (0, 1):
            continue
        positions = axis.positions(coordinates)
        x = _resized(call, x, d, axis, positions, mode)
        if coordinates == "tf_crop_and_resize":
            outside = _outside(outside, rank, d, positions, axis)
    if outside is not None and outside.any():
        value = float(call.attribute("extrapolation_value", 0.0))
        x = O.where(constant(outside), constant(np.asarray(value).astype(x.element.numpy)), x)
    return same(x)


def _outside(known: Array | None, rank: int, d: int, positions: Array, axis: Axis) -> Array:
    beyond = (positions < 0) | (positions > axis.size - 1)
    shaped = beyond.reshape([-1 if n == d else 1 for n in range(rank)])
    return shaped if known is None else known | shaped


def _axes(call: Call, axes: list[int], coordinates: str) -> list[Axis]:
    """Sizes and factors of the resized dimensions, from scales or from sizes."""
    old = [call.shape()[d] for d in axes]
    if call.version == 10:
        scales, roi = [float(s) for s in call.static(1)], None
        return [Axis(n, math.floor(n * s), s) for n, s in zip(old, scales, strict=True)]
    crop = coordinates == "tf_crop_and_resize"
    roi = [float(v) for v in call.static(1)] if crop else [0.0] * len(axes) + [1.0] * len(axes)
    spans = [(roi[n], roi[n + len(axes)]) for n in range(len(axes))]
    if call.has(3) and call.shape(3) != (0,):
        return _from_sizes(call, old, call.ints(3), spans)
    scales = [float(s) for s in call.static(2)]
    return [
        Axis(n, math.floor(n * (b - a) * s), s, a, b)
        for n, s, (a, b) in zip(old, scales, spans, strict=True)
    ]


def _from_sizes(
    call: Call, old: list[int], new: list[int], spans: list[tuple[float, float]]
) -> list[Axis]:
    policy = call.choice(
        "keep_aspect_ratio_policy", "stretch", "stretch", "not_larger", "not_smaller"
    )
    ratios = [wanted / size for wanted, size in zip(new, old, strict=True)]
    if policy == "stretch":
        columns = zip(old, new, ratios, spans, strict=True)
        return [Axis(size, wanted, ratio, *span) for size, wanted, ratio, span in columns]
    ratio = min(ratios) if policy == "not_larger" else max(ratios)
    return [
        Axis(size, int(ratio * size + 0.5), ratio, *span)
        for size, span in zip(old, spans, strict=True)
    ]


def _resized(call: Call, x: Tensor, d: int, axis: Axis, positions: Array, mode: str) -> Tensor:
    if mode == "nearest":
        how = str(call.attribute("nearest_mode", "round_prefer_floor"))
        return _nearest(x, d, axis, positions, "floor" if call.version == 10 else how)
    antialias = bool(call.attribute("antialias", 0)) and axis.scale < 1
    stretch = axis.scale if antialias else 1.0
    alpha = float(call.attribute("cubic_coeff_a", -0.75))

    def kernel(distance: Array) -> Array:
        return _linear(distance) if mode == "linear" else _cubic(distance, alpha)

    exclude = bool(call.attribute("exclude_outside", 0))
    reach = 1 if mode == "linear" else 2
    return _weighted(x, d, axis, positions, kernel, exclude=exclude, reach=reach, stretch=stretch)


def _nearest(x: Tensor, d: int, axis: Axis, positions: Array, how: str) -> Tensor:
    rounded: dict[str, Callable[[Array], Array]] = {
        "round_prefer_floor": lambda p: np.ceil(p - 0.5),
        "round_prefer_ceil": lambda p: np.floor(p + 0.5),
        "floor": np.floor,
        "ceil": np.ceil,
        "simple": np.floor,
    }
    if how not in rounded:
        raise Unsupported(f"nearest_mode={how!r}")
    chosen = np.clip(rounded[how](positions), 0, axis.size - 1).astype(np.int64)
    if np.array_equal(chosen, np.arange(axis.size)):
        return x
    return O.gather(x, constant(chosen), axis=d)


def _linear(distance: Array) -> Array:
    weights: Array = np.clip(1 - np.abs(distance), 0, 1)
    return weights


def _cubic(distance: Array, alpha: float) -> Array:
    """R. Keys, "Cubic convolution interpolation", IEEE TASSP 29(6), 1981."""
    x = np.abs(distance)
    near = (alpha + 2) * x**3 - (alpha + 3) * x**2 + 1
    far = alpha * x**3 - 5 * alpha * x**2 + 8 * alpha * x - 4 * alpha
    weights: Array = np.where(x <= 1, near, np.where(x < 2, far, 0))
    return weights


def _weighted(
    x: Tensor,
    d: int,
    axis: Axis,
    positions: Array,
    kernel: Callable[[Array], Array],
    *,
    exclude: bool,
    reach: int = 1,
    stretch: float = 1.0,
) -> Tensor:
    """Weighted sums of neighbors by distance; normalized if taps are excluded or stretched."""
    first = math.floor(-reach / stretch) + 1
    count = 2 * (1 - first) if stretch < 1 else 2 * reach
    if count > MOST_TAPS:
        raise Unsupported(f"a scale of {axis.scale}")
    taps = np.floor(positions)[None, :] + np.arange(first, first + count)[:, None]
    weights = kernel((taps - positions[None, :]) * stretch)
    if exclude:
        weights = np.where((taps >= 0) & (taps < axis.size), weights, 0)
    if exclude or stretch < 1:
        weights = weights / weights.sum(axis=0)
    indices = np.clip(taps, 0, axis.size - 1).astype(np.int64)
    wide = x if x.element.is_float else O.cast(x, "float32")
    result = O.resample(
        wide, constant(indices), constant(weights.astype(wide.element.numpy)), axis=d
    )
    if wide is x:
        return result
    return O.cast(O.round(result), x.dtype)

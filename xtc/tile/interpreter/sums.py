# SPDX-License-Identifier: Apache-2.0
"""Sums in the order of the machines, so that rounding is identical.

float16 and bfloat16 are summed in float32, and rounded once. A sum along a dimension first adds
the elements of a thread, in order; then the lanes of a warp, neighbors first; and finally the
warps, in order. Multiplications of threads and of warpgroups add one position of K after another.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from xtc.core.tile_layout import RegisterLayout
from xtc.tile.interpreter.fused import fused

Array = np.ndarray[Any, Any]
_WARP = 32


def widened(value: Array) -> Array:
    """Widen 16-bit floats to float32."""
    small = value.dtype.kind not in "iub" and value.dtype.itemsize < 4
    return value.astype(np.float32) if small else value


def summed(value: Array, layout: RegisterLayout, dim: int) -> Array:
    """The sum along a dimension, which keeps size 1, in the type of the tile."""
    axes = _Axes(layout, dim)
    whole = _filled(widened(value), dim, layout.shape[dim])
    parts = whole.reshape(value.shape[:dim] + axes.shape + value.shape[dim + 1 :])
    order = [dim + at for at in axes.order]
    others = [at for at in range(parts.ndim) if at not in order]
    parts = parts.transpose(*order, *others)
    kept = parts.shape[len(order) :]
    total = parts.reshape(axes.held, axes.lanes, axes.warps, *kept)
    total = _in_order(total)
    while len(total) > 1:
        total = total[0::2] + total[1::2]
    total = _in_order(total[0])
    return np.expand_dims(total, dim).astype(value.dtype)


def _filled(value: Array, dim: int, size: int) -> Array:
    """A tile of `size` elements along a dimension, with zeros that change no sum."""
    missing = size - value.shape[dim]
    if not missing:
        return value
    zero = value.dtype.type(-0.0 if value.dtype.kind not in "iub" else 0)
    shape = (*value.shape[:dim], missing, *value.shape[dim + 1 :])
    return np.concatenate([value, np.full(shape, zero, value.dtype)], dim)


def _in_order(parts: Array) -> Array:
    total: Array = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


class _Axes:
    """A dimension's modes as axes.

    Attributes:
        shape: sizes of the modes of the dimension.
        order: its axes: elements of a thread, then lanes and warps; the digit that is reduced first
            is the last one.
        held, lanes, warps: the number of each.
    """

    def __init__(self, layout: RegisterLayout, dim: int) -> None:
        sizes: list[int] = []
        held: list[int] = []
        lanes: list[tuple[int, int, int]] = []
        warps: list[tuple[int, int, int]] = []
        digits = {d[1]: d for d in layout.thread_digits() if d[0] == dim}
        added = [d[1] for d in layout.thread_digits() if d[0] == dim]
        for mode in layout.groups[dim]:
            size, (_, distance) = layout.modes[mode], layout.factor(mode)
            if mode in layout.local_modes:
                held.append(len(sizes))
                sizes.append(size)
                continue
            step, rank = digits[distance][3], added.index(distance)
            inside = math.gcd(size, max(1, _WARP // step))
            for count, first in ((size // inside, step * inside), (inside, step)):
                in_warp = count * first <= _WARP and count & (count - 1) == 0
                (lanes if in_warp else warps).append((rank, first, len(sizes)))
                sizes.append(count)
        axes = [[at for _, _, at in sorted(found, reverse=True)] for found in (lanes, warps)]
        self.shape = tuple(sizes)
        self.order = [*held, *axes[0], *axes[1]]
        self.held = math.prod(sizes[at] for at in held)
        self.lanes = math.prod(sizes[at] for at in axes[0])
        self.warps = math.prod(sizes[at] for at in axes[1])


def scanned(value: Array, dim: int, combine: Any) -> Array:
    """A prefix scan along a dimension; each step combines elements at twice the distance
    (Hillis and Steele, "Data parallel algorithms", CACM 1986)."""
    total = np.moveaxis(widened(value), dim, 0)
    distance = 1
    while distance < len(total):
        total = np.concatenate([total[:distance], combine(total[:-distance], total[distance:])])
        distance *= 2
    return np.moveaxis(total, 0, dim).astype(value.dtype)


def rounded_to_tf32(a: Array) -> Array:
    """Round float32 to the nearest tfloat32, ties away from zero (cvt.rna)."""
    bits = (a.view(np.int32) + (1 << 12)) & np.int32(-(1 << 13))
    return np.where(np.isfinite(a), bits.view(np.float32), a)


def multiplied(a: Array, b: Array, c: Array, step: int = 1) -> Array:
    """`a @ b + c`; `step` neighbors along K are added before the sum is rounded. A `step` of 1 uses
    fused multiply-adds."""
    if c.dtype.kind in "iu":
        made: Array = (a.astype(c.dtype) @ b.astype(c.dtype) + c).astype(c.dtype)
        return made
    total = widened(c)
    is_exact = a.dtype.itemsize < total.dtype.itemsize  # each product
    kind = np.dtype(np.float64) if step > 1 else total.dtype
    a, b = a.astype(kind), b.astype(kind)
    missing = -a.shape[1] % step
    a, b = np.pad(a, ((0, 0), (0, missing))), np.pad(b, ((0, missing), (0, 0)))
    with np.errstate(all="ignore"):
        for first in range(0, a.shape[1], step):
            if step == 1 and not is_exact:
                total = fused(a[:, first, None], b[first], total)
                continue
            added = a[:, first, None] * b[first]
            for k in range(first + 1, first + step):
                added += a[:, k, None] * b[k]
            total = (total + added).astype(total.dtype)
    rounded: Array = total.astype(c.dtype)
    return rounded

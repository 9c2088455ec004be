# SPDX-License-Identifier: Apache-2.0
"""Fourier transforms, as matmuls with matrices of sines and cosines."""

from __future__ import annotations

import numpy as np

import xtc.ops as O
from xtc.core.types import ELEMENT_TYPES
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.movement import constant, moved_axis, padded, part
from xtc.importers.values import Array, Unsupported, as_tensor

LONGEST = 8192  # points of a transform


def transformed(x: Tensor, axis: int, length: int, *, inverse: bool, onesided: bool) -> Tensor:
    """Fourier transform along one axis; the last dimension holds real or (real, imaginary) parts.

    The computation is in float64, because cancellation would expose the rounding errors of the
    sums. Complex signals of composite length use two factors of the length, in their own type.
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
    # (..., points, parts): one matmul with (points * parts, frequencies * parts).
    moved = moved_axis(signal, axis, last - 1)
    lead = moved.type.sizes[:-2]
    if parts == 2 and not onesided and _divisor(length) > 1:
        flat = _by_factors(O.reshape(moved, (-1, length, 2)), inverse=inverse)
        return moved_axis(O.reshape(flat, (*lead, length, 2)), last - 1, axis)
    matrix = _inverse_half(length) if half else _matrix(length, parts, inverse, onesided)
    points = O.cast(O.reshape(moved, (-1, wanted * parts)), "float64")
    flat = O.cast(O.matmul(points, constant(matrix)), x.dtype)
    out = 1 if half else 2
    result = O.reshape(flat, (*lead, matrix.shape[1] // out, out))
    return moved_axis(result, last - 1, axis)


def _divisor(length: int) -> int:
    """The largest divisor that does not exceed the square root."""
    return max(n for n in range(1, int(length**0.5) + 1) if length % n == 0)


def _by_factors(x: Tensor, *, inverse: bool) -> Tensor:
    """Transform rows (count, points, 2) by the Cooley-Tukey algorithm with two factors.

    J. W. Cooley, J. W. Tukey: An algorithm for the machine calculation of complex Fourier series.
    Mathematics of Computation 19 (1965).
    """
    count, length, _ = x.type.sizes
    few, sign = _divisor(length), 1 if inverse else -1
    many = length // few
    columns = tuple(
        O.transpose(O.reshape(part(x, 2, n, n + 1), (count, few, many)), axes=(0, 2, 1))
        for n in (0, 1)
    )
    angles = sign * 2 * np.pi * np.outer(np.arange(many), np.arange(few)) / length
    re, im = (constant(y.astype(_numpy(x))) for y in (np.cos(angles), np.sin(angles)))
    real, imaginary = _by_pairs(columns, sign)
    reversed_filters = (
        O.sub(O.mul(real, re), O.mul(imaginary, im)),
        O.add(O.mul(real, im), O.mul(imaginary, re)),
    )
    parts = _by_pairs(tuple(O.transpose(y, axes=(0, 2, 1)) for y in reversed_filters), sign)
    shaped = [O.reshape(O.transpose(y, axes=(0, 2, 1)), (count, length, 1)) for y in parts]
    result = O.concat(*shaped, axis=2)
    return O.mul(result, 1 / length) if inverse else result


def _by_pairs(x: tuple[Tensor, ...], sign: int) -> tuple[Tensor, Tensor]:
    """Transform the last dimension of real and imaginary parts.

    Points at equal distance from both ends have equal cosines and opposite sines.
    """
    length = x[0].type.sizes[-1]
    pairs = (length - 1) // 2
    angles = 2 * np.pi * np.outer(np.arange(length), np.arange(length)) / length
    even, odd = [], []
    for y in x:
        axis = y.type.rank - 1
        kept = [part(y, axis, 0, 1)]
        if length % 2 == 0:
            kept.append(part(y, axis, 1 + pairs, length - pairs))
        if pairs:
            near = part(y, axis, 1, 1 + pairs)
            far = O.flip(part(y, axis, length - pairs, length), axes=(axis,))
            kept.insert(1, O.add(near, far))
            odd.append(O.matmul(O.sub(near, far), _rows(np.sin(angles[1 : 1 + pairs]), y)))
        cosines = _rows(np.cos(angles[: length - pairs]), y)
        even.append(O.matmul(O.concat(*kept, axis=axis), cosines))
    if not odd:
        return even[0], even[1]
    plus, minus = (O.add, O.sub) if sign > 0 else (O.sub, O.add)
    return minus(even[0], odd[1]), plus(even[1], odd[0])


def _rows(matrix: Array, like: Tensor) -> Tensor:
    return constant(matrix.astype(_numpy(like)))


def _numpy(x: Tensor) -> np.dtype[np.generic]:
    return np.dtype(ELEMENT_TYPES[x.dtype].numpy)


def _matrix(length: int, parts: int, inverse: bool, onesided: bool) -> Array:
    """The matrix (time, part) x (frequency, part): the real form of the complex factors."""
    count = length // 2 + 1 if onesided else length
    sign = 2j if inverse else -2j
    turns = np.exp(sign * np.pi * np.outer(np.arange(length), np.arange(count)) / length)
    turns = turns / length if inverse else turns
    rows = [np.stack([turns.real, turns.imag], -1), np.stack([-turns.imag, turns.real], -1)]
    matrix: Array = np.stack(rows[:parts], 1).reshape(length * parts, count * 2)
    return matrix


def _inverse_half(length: int) -> Array:
    """The matrix from frequencies 0 to length // 2 of a real signal to the signal."""
    count = length // 2 + 1
    angles = 2 * np.pi * np.outer(np.arange(count), np.arange(length)) / length
    weight = np.full(count, 2.0)
    weight[0] = 1
    if length % 2 == 0:
        weight[-1] = 1
    rows = np.stack([np.cos(angles), -np.sin(angles)], 1) * weight[:, None, None] / length
    matrix: Array = rows.reshape(count * 2, length)
    return matrix

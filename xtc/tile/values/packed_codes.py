# SPDX-License-Identifier: Apache-2.0
"""Elements of at most 8 bits on the host: values to codes and back, and codes packed in bytes.

Casts agree with those of a kernel (`small_floats.py`): to the nearest, ties to even; too large
values become the largest finite number; integers lose their upper bits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from xtc.tile.types import DataType
from xtc.tile.values.saturation import converted

Array = np.ndarray[Any, Any]

_BYTE = 8


def packed(values: Array, dtype: DataType) -> Array:
    """Values as bytes; elements of fewer than 8 bits are packed, the first in the lowest bits."""
    codes = _codes(values.ravel(), dtype)
    bits = np.unpackbits(codes[:, None], axis=1, bitorder="little")[:, : dtype.bits]
    return np.packbits(bits.ravel(), bitorder="little")


def unpacked(stored: Array, dtype: DataType, shape: tuple[int, ...]) -> Array:
    """Unpack bytes: to float32 for floats, int32 for integers."""
    count = math.prod(shape)
    bits = np.unpackbits(stored.view(np.uint8).ravel(), bitorder="little")[: count * dtype.bits]
    codes = bits.reshape(count, dtype.bits) @ (1 << np.arange(dtype.bits))
    return _values(codes.astype(np.int32), dtype).reshape(shape)


def _codes(values: Array, dtype: DataType) -> Array:
    if not dtype.is_float():
        whole = converted(values, np.dtype(np.int32))
        return (whole & ((1 << dtype.bits) - 1)).astype(np.uint8)
    sizes = _values(np.arange(1 << (dtype.bits - 1)), dtype)
    finite = sizes[np.isfinite(sizes)].astype(np.float64)
    wanted = np.minimum(np.abs(values.astype(np.float64)), finite[-1])
    above = np.searchsorted(finite, wanted).clip(1)
    middle = (finite[above - 1] + finite[above]) / 2
    up = (wanted > middle) | ((wanted == middle) & (above % 2 == 0))
    codes = np.where(up, above, above - 1)
    codes = np.where(np.isnan(values), (1 << (dtype.bits - 1)) - 1, codes)
    signs: Array = np.signbit(values).astype(np.int64) << (dtype.bits - 1)
    return (codes | signs).astype(np.uint8)


def _values(codes: Array, dtype: DataType) -> Array:
    top = 1 << (dtype.bits - 1)
    if not dtype.is_float():
        negative = dtype.signed & (codes >= top)
        return np.where(negative, codes - 2 * top, codes).astype(np.int32)
    size = codes & (top - 1)
    exponent, mantissa = np.divmod(size, 1 << dtype.mantissa_bits)
    fraction = mantissa / (1 << dtype.mantissa_bits)
    normal = np.ldexp(1 + fraction, exponent - dtype.bias)
    value = np.where(exponent == 0, np.ldexp(fraction, 1 - dtype.bias), normal)
    if dtype.name == "float8_e4m3":
        value = np.where(size == top - 1, np.nan, value)
    if dtype.name == "float8_e5m2":
        value = np.where(size == 0x7C, np.inf, np.where(size > 0x7C, np.nan, value))
    return np.where(codes & top, -value, value).astype(np.float32)

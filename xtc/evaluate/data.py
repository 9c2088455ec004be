# SPDX-License-Identifier: Apache-2.0
"""Deterministic input data for validation, which exposes mistakes and avoids accidental overflow.

Floating point, of either sign with equal chance:

- most values have a magnitude of 2^k m, k uniform in -6..2 and m uniform in [1, 2): from 1/64 to 8,
  every size equally frequent, with full mantissas;
- some are special values: zeros of both signs, ones, the neighbors of one, thirds,
  +-2^-12, and the limits +-8.

Therefore exp(x) stays below 2981, finite even in float16; products stay below 64, and a sum of n
products of two samples has a magnitude of about 5 sqrt(n), finite in float16 up to some million
terms.

Integers are uniform in -m..m (0..m where unsigned), m = 2^(bits/4) but at most 127, both limits and
zero included: sums of products then fit the type over at least 7 terms (int8), 127 (int16) and
130 thousand (int32). `full_range` takes every value of the type instead.

Booleans are true with probability one half. Arrays of two or more elements have special values at
up to half of their positions, chosen at random; equal seeds give equal arrays.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from xtc.core.errors import UserError
from xtc.evaluate.dtypes import as_dtype, kind_of

Array = npt.NDArray[Any]

_EXPONENTS = (-6, 2)
_LARGEST = 8.0
_TINY = 2.0**-12
_LARGEST_INT = 127


def sample(
    shape: Sequence[int],
    dtype: npt.DTypeLike,
    seed: int,
    *,
    full_range: bool = False,
    of_one_sign: bool = False,
) -> Array:
    """An array of validation data, distributed as the module says.

    Args:
        shape: extents, each 0 or more.
        dtype: boolean, integer or floating element type, ml_dtypes' included.
        seed: 0 or more; equal seeds give equal arrays.
        full_range: draw integers from the type's whole range; no effect on other types.
        of_one_sign: draw floats that are positive and at most 1, so that sums of them grow; no
            effect on other types.

    Raises UserError for an impossible shape, an unknown element type or a negative seed.
    """
    extents, element = _extents(shape), as_dtype(dtype)
    if seed < 0:
        raise UserError(f"seed is {seed}", hints=["a seed is 0 or more"])
    rng = np.random.default_rng(seed)
    size = int(np.prod(extents, dtype=np.int64))
    kind = kind_of(element)
    values: Array
    special: Sequence[object]
    if kind == "float":
        values, special = _floats(rng, size), _special_floats(element)
    elif kind == "int":
        values, special = _ints(rng, size, element, full_range)
    else:
        values, special = rng.random(size) < 0.5, [True, False]
    _scatter(rng, values, special)
    if of_one_sign and kind == "float":
        values = np.abs(values) / _LARGEST
    return values.astype(element).reshape(extents)


def _extents(shape: Sequence[int]) -> tuple[int, ...]:
    try:
        extents = tuple(operator.index(extent) for extent in shape)
    except TypeError:
        raise UserError(
            f"shape {shape!r} is not a sequence of integers", hints=["write a tuple, as in (4, 8)"]
        ) from None
    if any(extent < 0 for extent in extents):
        raise UserError(f"shape {extents} has a negative extent")
    return extents


def _floats(rng: np.random.Generator, size: int) -> Array:
    exponents = rng.integers(_EXPONENTS[0], _EXPONENTS[1], size, endpoint=True)
    signs = np.where(rng.random(size) < 0.5, -1.0, 1.0)
    return signs * np.ldexp(1.0 + rng.random(size), exponents)


def _special_floats(dtype: np.dtype[np.generic]) -> list[float]:
    eps = float(ml_dtypes.finfo(dtype).eps)
    positive = [0.0, 1.0, _LARGEST, _TINY, 1.0 / 3.0, 1.0 + eps, 1.0 - eps / 2]
    return [signed for value in positive for signed in (value, -value)]


def _ints(
    rng: np.random.Generator, size: int, dtype: np.dtype[np.generic], full_range: bool
) -> tuple[Array, list[int]]:
    info = ml_dtypes.iinfo(dtype)
    least, greatest = int(info.min), int(info.max)
    if not full_range:
        limit = min(_LARGEST_INT, 2 ** (int(info.bits) // 4), greatest)
        least, greatest = max(-limit, least), limit
    wide = np.uint64 if greatest > np.iinfo(np.int64).max else np.int64
    values: Array = rng.integers(least, greatest, size, dtype=wide, endpoint=True)
    return values, [least, greatest, 0]


def _scatter(rng: np.random.Generator, values: Array, special: Sequence[object]) -> None:
    """Put special values at distinct random positions, at most half of the array."""
    count = min(len(special), values.size // 2)
    chosen = rng.permutation(values.size)[:count]
    values[chosen] = np.asarray(special, dtype=values.dtype)[:count]

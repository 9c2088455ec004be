# SPDX-License-Identifier: Apache-2.0
"""Functions on fixed-point numbers in int32, for tables computed at graph construction.

The rules are those of gemmlowp's fixedpoint.h (github.com/google/gemmlowp, fixedpoint), which
TensorFlow Lite's reference kernels use. Numbers are int64 arrays of values that fit int32; with i
integer bits, raw represents raw / 2^(31 - i).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Raw = npt.NDArray[np.int64]

GREATEST = (1 << 31) - 1  # the number 1 without integer bits
_ONE_IN_2 = 1 << 29  # the number 1 with two integer bits
N48_OVER_17, NEG_32_OVER_17 = 1515870810, -1010580540  # with two integer bits
_EXP_OF_AN_EIGHTH, _THIRD = 1895147668, 715827883  # exp(-1/8) and 1/3
_POWERS = (  # exp(-2^n) for n from -2
    (-2, 1672461947),
    (-1, 1302514674),
    (0, 790015084),
    (1, 290630308),
    (2, 39332535),
    (3, 720401),
    (4, 242),
)


def product(a: Any, b: Any) -> Raw:
    """a * b / 2^31 to nearest, ties up; saturated."""
    whole = np.asarray(a, np.int64) * np.asarray(b, np.int64)
    result: Raw = np.minimum((whole + (1 << 30)) >> 31, GREATEST)
    return result


def divided(x: Any, exponent: int) -> Raw:
    """x / 2^exponent to nearest, ties away from zero."""
    wide = np.asarray(x, np.int64)
    mask = (1 << exponent) - 1
    result: Raw = (wide >> exponent) + ((wide & mask) > (mask >> 1) + (wide < 0))
    return result


def multiplied(x: Any, exponent: int) -> Raw:
    """x * 2^exponent, saturated."""
    result: Raw = np.clip(np.asarray(x, np.int64) << exponent, -GREATEST - 1, GREATEST)
    return result


def exp_of_negative(x: Any, integer_bits: int) -> Raw:
    """exp of numbers of 0 and less with up to 5 integer bits; the result has none."""
    wide = np.asarray(x, np.int64)
    fraction = 31 - integer_bits
    quarter = 1 << (fraction - 2)
    within = (wide & (quarter - 1)) - quarter
    result = _exp_of_quarter(multiplied(within, integer_bits))
    rest = within - wide
    for exponent, power in _POWERS:
        if integer_bits > exponent:
            chosen = (rest & (1 << (fraction + exponent))) != 0
            result = np.where(chosen, product(result, power), result)
    return np.where(wide == 0, GREATEST, result)


def _exp_of_quarter(x: Raw) -> Raw:
    """exp of numbers from -1/4 to 0, by a Taylor series about -1/8."""
    y = x + (1 << 28)
    square = product(y, y)
    third = product(square, y)
    fourth = divided(product(square, square), 2)
    tail = divided(product(fourth + third, _THIRD) + square, 1)
    result: Raw = _EXP_OF_AN_EIGHTH + product(_EXP_OF_AN_EIGHTH, y + tail)
    return result


def _inverse_of_half(x: Raw) -> Raw:
    """2 / (1 + x) for x from 0 to 1, with two integer bits: three iterations by Newton."""
    half = (x + GREATEST + 1) >> 1
    found = N48_OVER_17 + product(half, NEG_32_OVER_17)
    for _ in range(3):
        left = _ONE_IN_2 - product(half, found)
        found = found + multiplied(product(found, left), 2)
    result: Raw = found
    return result


def inverse_of_one_more(x: Any) -> Raw:
    """1 / (1 + x) for x from 0 to 1, without integer bits."""
    return multiplied(_inverse_of_half(np.asarray(x, np.int64)), 1)


def logistic(x: Any, integer_bits: int) -> Raw:
    """1 / (1 + exp(-x)), without integer bits."""
    wide = np.asarray(x, np.int64)
    positive = inverse_of_one_more(exp_of_negative(-np.abs(wide), integer_bits))
    result = np.where(wide > 0, positive, GREATEST - positive)
    return np.where(wide == 0, 1 << 30, result)


def tanh(x: Any, integer_bits: int) -> Raw:
    """The hyperbolic tangent, without integer bits."""
    wide = np.asarray(x, np.int64)
    power = exp_of_negative(-np.abs(wide), integer_bits + 1)
    positive = multiplied(_inverse_of_half(power) - _ONE_IN_2, 2)
    return np.where(wide == 0, 0, np.where(wide > 0, positive, -positive))


def radius(integer_bits: int, left_shift: int) -> int:
    """The largest integer that fits the integer bits after `left_shift` and a multiplier."""
    return (((1 << integer_bits) - 1) << (31 - integer_bits)) >> left_shift

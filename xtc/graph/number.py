# SPDX-License-Identifier: Apache-2.0
"""Python numbers as elements of a tensor: which fit, and the shortest one that is exact."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from xtc.core.types import ElementType

Number = bool | int | float


def fits(value: object, element: ElementType) -> bool:
    """Whether `value` is an element: bools for bool, integers in range, floats that stay finite.

    A float type takes any finite number that rounds to a finite element, infinities and NaN.
    """
    if isinstance(value, bool) or element.kind == "bool":
        return isinstance(value, bool) and element.kind == "bool"
    if element.kind == "int":
        limit = 2 ** (element.bits - 1)
        return isinstance(value, int) and -limit <= value < limit
    return isinstance(value, int | float) and _stays_finite(value, element)


def _stays_finite(value: int | float, element: ElementType) -> bool:
    try:
        number = np.float64(value)
    except OverflowError:
        return False
    with np.errstate(over="ignore"):
        rounded = float(number.astype(element.numpy))
    return math.isfinite(rounded) or not math.isfinite(number)


def shortest(value: Any, element: ElementType) -> Number | None:
    """The shortest number that gives exactly the NumPy scalar `value`; None for odd NaNs."""
    if not element.is_float:
        plain: bool | int = value.item()
        return plain
    for number in (float(str(value)), float(value)):
        if np.float64(number).astype(element.numpy).tobytes() == value.tobytes():
            return number
    return None

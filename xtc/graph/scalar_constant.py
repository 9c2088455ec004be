# SPDX-License-Identifier: Apache-2.0
"""Python numbers as operands: they become constants of rank 0."""

from __future__ import annotations

import math
from typing import Any, TypeGuard

import numpy as np

from xtc.core.errors import UserError, shown
from xtc.core.types import ElementType

Number = bool | int | float | np.integer[Any] | np.floating[Any] | np.bool_


def is_number(value: object) -> TypeGuard[Number]:
    """True for Python's and NumPy's real numbers."""
    return isinstance(value, bool | int | float | np.integer | np.floating | np.bool_)


def number_array(value: Number, element: ElementType) -> np.ndarray[Any, Any]:
    """`value` as an array of rank 0. Raises UserError if the element type cannot hold it."""
    if element.is_float:
        return _float_array(value, element)
    if isinstance(value, float | np.floating) and not float(value).is_integer():
        raise UserError(f"the number {shown(value)} is not {element}")
    low, high = element.limits
    if not low <= value <= high:
        raise UserError(f"the number {shown(value)} does not fit {element}")
    return np.asarray(int(value)).astype(element.numpy)


def _float_array(value: Number, element: ElementType) -> np.ndarray[Any, Any]:
    """Rounded to the nearest number of the type. Raises UserError if a finite number overflows."""
    try:
        number = float(value)
    except OverflowError:
        raise UserError(f"the number {shown(value)} does not fit {element}") from None
    with np.errstate(over="ignore"):
        array = np.asarray(number).astype(element.numpy)
    if math.isfinite(number) and not np.isfinite(array):
        raise UserError(f"the number {shown(value)} does not fit {element}")
    return array

# SPDX-License-Identifier: Apache-2.0
"""Converts the user's arrays to NumPy arrays without loss of meaning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from xtc.core.errors import UserError, XtcError

_USUAL = (BufferError, RuntimeError, TypeError, ValueError)
Array = np.ndarray[Any, Any]


def as_array(value: Any, what: str, read: Callable[[Any], Array] = np.asanyarray) -> Array:
    """`value` as an array, converted by `read`; `what` names it in errors.

    Raises UserError for a masked array, whose mask would be lost, and if the object's own
    conversion fails with any exception.
    """
    try:
        array = read(value)
    except XtcError:
        raise
    except Exception as error:
        raise UserError(
            f"{what} of type {type(value).__name__} cannot be read as an array",
            notes=[str(error) if isinstance(error, _USUAL) else f"{type(error).__name__}: {error}"],
            hints=["move it to host memory and pass a NumPy array or a DLPack CPU tensor"],
        ) from error
    if isinstance(array, np.ma.MaskedArray):
        raise UserError(
            f"{what} is a masked array, whose mask would be lost",
            hints=["fill masked elements: array.filled(0)"],
        )
    return valid_booleans(np.asarray(array))


def valid_booleans(array: Array) -> Array:
    """The array; a corrected copy of a boolean array with bytes other than 0 and 1.

    NumPy treats every non-zero byte as true; compiled code tests one bit.
    """
    if array.dtype != np.bool_:
        return array
    held = array.view(np.uint8)
    return held != 0 if held.size and held.max() > 1 else array

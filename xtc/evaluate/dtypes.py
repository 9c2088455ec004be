# SPDX-License-Identifier: Apache-2.0
"""The kinds of element types, including those of ml_dtypes."""

from __future__ import annotations

from typing import Literal

import ml_dtypes
import numpy as np
import numpy.typing as npt

from xtc.core.errors import UserError

Kind = Literal["bool", "int", "float"]


def as_dtype(dtype: npt.DTypeLike) -> np.dtype[np.generic]:
    """`dtype` as a NumPy dtype. Raises UserError if neither NumPy nor ml_dtypes knows it."""
    try:
        return np.dtype(dtype)
    except TypeError:
        raise UserError(
            f"unknown element type {dtype!r}",
            hints=["write a NumPy or ml_dtypes name such as 'float32', 'bfloat16' or 'int8'"],
        ) from None


def kind_of(dtype: np.dtype[np.generic]) -> Kind:
    """The kind of `dtype`. Raises UserError for complex, text, object and record types."""
    if dtype.kind == "b":
        return "bool"
    if dtype.kind in "iu" or _is_small_int(dtype):
        return "int"
    if _is_float(dtype):
        return "float"
    raise UserError(
        f"element type {dtype} is neither boolean, integer nor real floating point",
        hints=["split complex arrays into their real and imaginary parts"],
    )


def _is_small_int(dtype: np.dtype[np.generic]) -> bool:
    """Whether it is an integer type of less than a byte, which NumPy treats as opaque."""
    try:
        ml_dtypes.iinfo(dtype)
    except ValueError:
        return False
    return True


def _is_float(dtype: np.dtype[np.generic]) -> bool:
    if dtype.kind == "c":
        return False
    try:
        ml_dtypes.finfo(dtype)
    except ValueError:
        return False
    return True

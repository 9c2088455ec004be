# SPDX-License-Identifier: Apache-2.0
"""Conversion of floats to integers as on a GPU ("Parallel Thread Execution ISA", cvt)."""

from __future__ import annotations

from typing import Any

import numpy as np


def saturated(value: Any, dtype: np.dtype[Any], *, signed: bool) -> Any:
    """Floats rounded toward zero; values out of range become the nearest integer of the type, NaN
    becomes 0. `dtype` is signed like all of the interpreter's types, even if its bits are unsigned.
    """
    kind = dtype if signed else np.dtype(f"u{dtype}")
    limits = np.iinfo(kind)
    found = np.trunc(np.asarray(value).astype(np.float64))
    above, below = found >= float(int(limits.max) + 1), found < float(limits.min)
    inside = np.where(above | below | np.isnan(found), 0.0, found).astype(kind)
    made = np.where(above, limits.max, np.where(below, limits.min, inside))
    return made.astype(kind).view(dtype)[()]


def converted(values: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Convert values to another NumPy type, with the rules of kernels.

    Floats become integers of fewer than 32 bits through int32, and lose their upper bits there,
    as integers do.
    """
    if values.dtype.kind in "iub" or dtype.kind not in "iu":
        return values.astype(dtype)
    wide = dtype if dtype.itemsize >= np.dtype(np.int32).itemsize else np.dtype(np.int32)
    whole = saturated(values, np.dtype(f"i{wide.itemsize}"), signed=wide.kind == "i")
    return np.asarray(whole).view(wide).astype(dtype)

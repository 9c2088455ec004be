# SPDX-License-Identifier: Apache-2.0
"""Mathematical functions of the C library. Compiled code calls them too, so simulated kernels and
the interpreter round alike; NumPy has different implementations."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np

_ELSEWHERE = MappingProxyType(
    {
        **{name: getattr(np, name) for name in ("exp", "exp2", "log", "log2", "log10")},
        **{name: getattr(np, name) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
        **{
            name: getattr(np, f"arc{name[1:]}")
            for name in ("asin", "acos", "atan", "asinh", "acosh", "atanh", "atan2")
        },
        "erf": np.vectorize(math.erf, otypes=[np.float64]),
        "pow": np.power,
    }
)
"""Used if the C library lacks the function, as some lack those of float32."""


def elementwise(name: str) -> Callable[..., Any]:
    """The function of this name of float32 or float64; float16 and bfloat16 in float32."""

    def computed(*values: Any) -> Any:
        given = [np.asarray(value) for value in values]
        dtype = np.dtype(np.float64 if given[0].dtype.itemsize > 4 else np.float32)
        found = _function(name, dtype.char, len(given))(*(v.astype(dtype) for v in given))
        return np.asarray(found).astype(dtype)

    return computed


@cache
def _function(name: str, kind: str, operands: int) -> Callable[..., Any]:
    found: Callable[..., Any] = _ELSEWHERE[name]
    try:
        called = getattr(ctypes.CDLL(None), name + ("f" if kind == "f" else ""))
    except (AttributeError, OSError, TypeError):
        return found
    called.restype = ctypes.c_float if kind == "f" else ctypes.c_double
    called.argtypes = [called.restype] * operands
    made: Callable[..., Any] = np.frompyfunc(called, operands, 1)
    return made

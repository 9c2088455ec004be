# SPDX-License-Identifier: Apache-2.0
"""Functions of Python's `math` on run-time numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

from xtc.core.errors import UserError
from xtc.tile.types import float32
from xtc.tile.values.arithmetic import binary, cast, select, unary
from xtc.tile.values.runtime import Data

_SAME = (
    *("exp", "exp2", "log", "log2", "log10", "sqrt", "floor", "ceil", "erf"),
    *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh"),
    "atanh",
)
_OF_TWO = ("pow", "atan2")


def math_function(name: str, arguments: Sequence[Any]) -> Any:
    """The function `math.<name>`. Raises UserError for an unsupported function and for wrong
    arguments."""
    if name not in _FUNCTIONS:
        raise UserError(
            f"math.{name} of a run-time number is not supported in a kernel",
            hints=[f"it has {', '.join(sorted(_FUNCTIONS))}"],
        )
    count = 2 if name in (*_OF_TWO, "fmod") else 1
    if len(arguments) != count:
        raise UserError(f"math.{name} takes {count} numbers, not {len(arguments)}")
    return _FUNCTIONS[name](*map(_float, arguments))


def _float(value: Any) -> Any:
    """Convert to a float, because Python's functions accept integers too."""
    return value if not isinstance(value, Data) or value.dtype.is_float() else cast(value, float32)


def _trunc(x: Any) -> Any:
    return select(binary("lt", x, 0.0), unary("ceil", x), unary("floor", x))


_FUNCTIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        **{name: partial(unary, name) for name in _SAME},
        "fabs": partial(unary, "abs"),
        "isinf": lambda x: binary("eq", unary("abs", x), float("inf")),
        "isnan": lambda x: binary("ne", x, x),
        "isfinite": lambda x: binary("lt", unary("abs", x), float("inf")),
        "fmod": lambda x, y: binary("mod", x, y),
        **{name: partial(binary, name) for name in _OF_TWO},
        "trunc": _trunc,
    }
)

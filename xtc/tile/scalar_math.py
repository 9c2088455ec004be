# SPDX-License-Identifier: Apache-2.0
"""Functions of Python's `math` on numbers of run time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from xtc.core.errors import UserError
from xtc.tile.arithmetic import binary, cast, select, unary
from xtc.tile.types import float32
from xtc.tile.values import Data

_SAME = ("exp", "exp2", "log", "log2", "sqrt", "floor", "ceil", "tanh", "sin", "cos", "erf")


def math_function(name: str, arguments: Sequence[Any]) -> Any:
    """The function `math.<name>`. Raises UserError for one that kernels have not, and for wrong
    arguments."""
    if name not in _FUNCTIONS:
        raise UserError(
            f"a kernel has no math.{name} of a number of run time",
            hints=[f"it has {', '.join(sorted(_FUNCTIONS))}"],
        )
    count = 2 if name == "pow" else 1
    if len(arguments) != count:
        raise UserError(f"math.{name} takes {count} numbers, not {len(arguments)}")
    return _FUNCTIONS[name](*map(_float, arguments))


def _float(value: Any) -> Any:
    """A float, as Python's functions take integers too."""
    return value if not isinstance(value, Data) or value.dtype.is_float() else cast(value, float32)


def _trunc(x: Any) -> Any:
    return select(binary("lt", x, 0.0), unary("ceil", x), unary("floor", x))


def _plain(name: str) -> Callable[[Any], Any]:
    return lambda x: unary(name, x)


_FUNCTIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        **{name: _plain(name) for name in _SAME},
        "fabs": _plain("abs"),
        "isinf": lambda x: binary("eq", unary("abs", x), float("inf")),
        "isnan": lambda x: binary("ne", x, x),
        "pow": lambda x, y: binary("pow", x, y),
        "tan": lambda x: binary("truediv", unary("sin", x), unary("cos", x)),
        "trunc": _trunc,
    }
)

# SPDX-License-Identifier: Apache-2.0
"""What methods of kernel values do: the modules that know it say so here when they are imported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])

_METHODS: dict[str, Callable[..., Any]] = {}


def method(name: str) -> Callable[[_Function], _Function]:
    """Let a function be what `call` calls by this name."""

    def keep(function: _Function) -> _Function:
        _METHODS[name] = function
        return function

    return keep


def call(name: str, *arguments: Any) -> Any:
    """Call the function of this name."""
    return _METHODS[name](*arguments)

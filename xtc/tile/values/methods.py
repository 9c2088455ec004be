# SPDX-License-Identifier: Apache-2.0
"""A registry of the methods of kernel values; the implementing modules fill it on import."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])

_METHODS: dict[str, Callable[..., Any]] = {}


def method(name: str) -> Callable[[_Function], _Function]:
    """Register a function that `call` calls by this name."""

    def keep(function: _Function) -> _Function:
        _METHODS[name] = function
        return function

    return keep


def call(name: str, *arguments: Any) -> Any:
    """Call the function registered under this name."""
    return _METHODS[name](*arguments)

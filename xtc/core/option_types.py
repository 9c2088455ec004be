# SPDX-License-Identifier: Apache-2.0
"""Options of passes and targets: checks values against declared types, and parses text."""

from __future__ import annotations

from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

_TRUTHS = {"": True, "true": True, "1": True, "false": False, "0": False}


def fits(value: object, declared: Any) -> bool:
    """Whether `value` has the declared type; an int is also a float, a bool is not a number."""
    arguments = get_args(declared)
    if get_origin(declared) in (Union, UnionType):
        return any(fits(value, argument) for argument in arguments)
    if get_origin(declared) is Literal:
        return value in arguments
    if get_origin(declared) is tuple:
        return isinstance(value, tuple) and all(fits(item, arguments[0]) for item in value)
    if isinstance(value, bool):
        return declared is bool
    return isinstance(value, (int, float) if declared is float else declared)


def parse(text: str, declared: Any) -> Any:
    """The value of `text` on a command line. Raises ValueError if it cannot be parsed.

    The elements of a tuple are separated by commas; a bool without a value is true.
    """
    arguments = get_args(declared)
    if get_origin(declared) in (Union, UnionType):
        return _first_that_parses(text, arguments)
    if get_origin(declared) is Literal:
        return _one_of(text, arguments)
    if get_origin(declared) is tuple:
        return tuple(parse(part, arguments[0]) for part in text.split(",") if text)
    if declared is bool:
        if text not in _TRUTHS:
            raise ValueError(f"{text!r} is neither true nor false")
        return _TRUTHS[text]
    return declared(text) if declared in (int, float, Path) else text


def type_text(declared: Any) -> str:
    """A declared type as text for messages."""
    return declared.__name__ if isinstance(declared, type) else str(declared)


def _first_that_parses(text: str, choices: tuple[Any, ...]) -> Any:
    for declared in choices:
        if declared is NoneType:
            continue
        try:
            return parse(text, declared)
        except ValueError:
            continue
    raise ValueError(f"{text!r} is not one of these")


def _one_of(text: str, values: tuple[Any, ...]) -> Any:
    for value in values:
        if str(value) == text:
            return value
    raise ValueError(f"{text!r} is not one of these")

# SPDX-License-Identifier: Apache-2.0
"""An operator's attributes as plain data, for writing and for checked reading."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from xtc.core.errors import UserError
from xtc.graph.operator import Operator

Op = TypeVar("Op", bound=Operator)
_PLAIN_TYPES = (bool, int, float, str, type(None))


def set_attributes(op: Operator) -> dict[str, Any]:
    """The attributes that differ from their default, by name."""
    return {
        field.name: getattr(op, field.name)
        for field in dataclasses.fields(op)
        if getattr(op, field.name) != field.default
    }


def with_plain_attributes(op: Op) -> Op:
    """`op` with NumPy scalars as Python's, lists as tuples. Raises UserError for other values."""
    plain = {
        field.name: _plain(getattr(op, field.name), field.name, op.name)
        for field in dataclasses.fields(op)
    }
    return dataclasses.replace(op, **plain) if plain else op


def _plain(value: Any, attribute: str, operator: str) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if type(value) in _PLAIN_TYPES:
        return value
    if isinstance(value, tuple | list):
        return tuple(_plain(item, attribute, operator) for item in value)
    raise UserError(
        f"attribute '{attribute}' of {operator} is {type(value).__name__}, not plain data",
        notes=["plain data are numbers, strings, booleans, None and tuples of them"],
    )


def missing_attributes(op_class: type[Operator], given: Mapping[str, Any]) -> Iterator[str]:
    """Names of attributes without a default that are not given."""
    for field in dataclasses.fields(op_class):
        has_default = field.default is not dataclasses.MISSING
        if field.name not in given and not has_default and (
            field.default_factory is dataclasses.MISSING
        ):  # fmt: skip
            yield field.name


def attribute_names(op_class: type[Operator]) -> list[str]:
    """Names of all attributes, in the order declared."""
    return [field.name for field in dataclasses.fields(op_class)]


def check_attribute(op_class: type[Operator], name: str, value: Any) -> None:
    """Raise UserError unless `value` is of the type that the attribute declares."""
    hint = _hints(op_class)[name]
    if not _conforms(value, hint):
        raise UserError(
            f"attribute '{name}' of {op_class.name} is {value!r}, not {_hint_text(hint)}"
        )


@cache
def _hints(op_class: type[Operator]) -> dict[str, Any]:
    return get_type_hints(op_class)


def _hint_text(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) and not get_args(hint) else str(hint)


def _conforms(value: Any, hint: Any) -> bool:
    """Whether plain data has type `hint`; other hints accept any value."""
    origin, choices = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(_conforms(value, choice) for choice in choices)
    if origin is Literal:
        return any(value == choice and type(value) is type(choice) for choice in choices)
    if origin is tuple:
        return isinstance(value, tuple) and _tuple_conforms(value, choices)
    if hint is float:
        return type(value) in (int, float)
    if hint in _PLAIN_TYPES:
        return type(value) is hint
    return hint is not tuple or isinstance(value, tuple)


def _tuple_conforms(values: tuple[Any, ...], hints: tuple[Any, ...]) -> bool:
    if len(hints) == 2 and hints[1] is Ellipsis:
        return all(_conforms(value, hints[0]) for value in values)
    return len(values) == len(hints) and all(map(_conforms, values, hints))

# SPDX-License-Identifier: Apache-2.0
"""Canonical text of plain data: equal if and only if the values are equal, in every process."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from enum import Enum
from pathlib import PurePath
from typing import Any

_PLAIN = (bool, int, float, complex, str, bytes, type(None))


class NoCanonicalFormError(TypeError):
    """A value is not plain data and has no canonical text."""


def canonical_text(value: object) -> str:
    """The text of numbers, strings, paths, enums, sequences, sets, mappings and dataclasses.

    It includes types: 1, 1.0 and "1" differ. Raises NoCanonicalFormError for other values.
    """
    return repr(_form(value))


def _form(value: object) -> object:
    """`value` as nested tuples of plain values, whose `repr` is unambiguous."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, Enum):
        return _kind(value), value.name
    if isinstance(value, PurePath):
        return "path", str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _dataclass_form(value)
    if type(value) in (tuple, list):
        return _kind(value), *map(_form, value)  # type: ignore[call-overload]
    if type(value) in (set, frozenset):
        return _kind(value), *sorted(map(canonical_text, value))  # type: ignore[call-overload]
    if isinstance(value, Mapping):
        items = ((canonical_text(key), _form(item)) for key, item in value.items())
        return "mapping", *sorted(items, key=lambda item: item[0])
    raise NoCanonicalFormError(f"{type(value).__qualname__} is not plain data")


def _dataclass_form(value: Any) -> object:
    fields = ((f.name, _form(getattr(value, f.name))) for f in dataclasses.fields(value))
    return _kind(value), *fields


def _kind(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"

# SPDX-License-Identifier: Apache-2.0
"""Type checks of values read from a file; each raises TypeError."""

from __future__ import annotations

from typing import Any


def texts(values: Any) -> tuple[str, ...]:
    """`values` as a tuple of texts."""
    return tuple(map(text, values))


def text(value: Any) -> str:
    """`value`, if it is a string."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a string")
    return value


def number(value: Any) -> int:
    """`value`, if it is a natural number."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise TypeError(f"{value!r} is not a natural number")
    return value

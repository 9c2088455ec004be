# SPDX-License-Identifier: Apache-2.0
"""Checks of configuration values; each raises UserError."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from xtc.core.errors import UserError, did_you_mean, shown


def one_of(name: str, value: object, known: Sequence[str]) -> None:
    """Refuse a value that is not in `known`."""
    if value not in known:
        raise UserError(
            f"{name}={shown(value)} is not one of {', '.join(known)}",
            hints=did_you_mean(str(value), known),
        )


def whole(name: str, value: object, low: int, high: int, *, optional: bool = False) -> None:
    """Refuse a value that is not an integer from `low` to `high`."""
    if value is None and optional:
        return
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise UserError(f"{name}={shown(value)} is not a whole number from {low} to {high}")


def positive(name: str, value: Any, *, optional: bool = False) -> None:
    """Refuse a value that is not a finite number above 0."""
    if value is None and optional:
        return
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 < value < math.inf:
        raise UserError(f"{name}={shown(value)} is not a positive number")

# SPDX-License-Identifier: Apache-2.0
"""Formats measured quantities as short text with a suitable unit."""

from __future__ import annotations

_SECONDS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
_EXACT_BELOW = 2.0**53  # every float64 above this is an integer


def time_unit(seconds: float) -> tuple[float, str]:
    """The largest unit not above `seconds`, as its length in seconds and its symbol."""
    for length, symbol in _SECONDS:
        if seconds >= length:
            return length, symbol
    return _SECONDS[-1]


def seconds_text(seconds: float) -> str:
    """For instance `1.234 ms`."""
    length, symbol = time_unit(seconds)
    return f"{seconds / length:.4g} {symbol}"


def number_text(value: float) -> str:
    """For instance `1,234`, `1,234.5` or `0.0125`: integers exactly, with thousands separators."""
    if float(value).is_integer() and abs(value) < _EXACT_BELOW:
        return f"{int(value):,}"
    return f"{value:,.1f}" if abs(value) >= 1000 else f"{value:.4g}"

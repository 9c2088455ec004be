# SPDX-License-Identifier: Apache-2.0
"""Multiply-adds that round once.

Of float32, a product is exact in float64; a sum there that is rounded to odd is rounded right when
it is rounded again (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums: proved
algorithms using rounding to odd", IEEE Transactions on Computers, 2008). Of float64, a product and
a sum are each exact as two numbers (Dekker, 1971; Knuth's TwoSum).
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
_SPLIT = float((1 << 27) + 1)


def fused(a: Any, b: Any, c: Any) -> Any:
    """`a * b + c` of float32 or float64, rounded once."""
    dtype = np.asarray(c).dtype
    x, y, z = (np.asarray(value, np.float64) for value in (a, b, c))
    with np.errstate(all="ignore"):
        plain = x * y + z
        if dtype.itemsize < plain.itemsize:
            found = _to_odd(*_sum(x * y, z))
        else:
            high, low = _product(x, y)
            upper, lower = _sum(z, low)
            first, second = _sum(high, upper)
            found = first + _to_odd(*_sum(lower, second))
        made: Any = np.where(np.isfinite(found), found, plain).astype(dtype)
    return made[()]


def _sum(a: Array, b: Array) -> tuple[Array, Array]:
    """The sum, and what rounding it has lost."""
    total = a + b
    other = total - a
    return total, (a - (total - other)) + (b - other)


def _product(a: Array, b: Array) -> tuple[Array, Array]:
    """The product, and what rounding it has lost."""
    product = a * b
    a_high, b_high = (v * _SPLIT - (v * _SPLIT - v) for v in (a, b))
    a_low, b_low = a - a_high, b - b_high
    lost = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, lost


def _to_odd(total: Array, lost: Array) -> Array:
    """A rounded sum, made odd where something was lost: the neighbor on the side of that."""
    even = (np.asarray(total).view(np.int64) & 1) == 0
    beside = np.nextafter(total, np.where(lost > 0, np.inf, -np.inf))
    return np.where(even & (lost != 0) & np.isfinite(lost), beside, total)

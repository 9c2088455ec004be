# SPDX-License-Identifier: Apache-2.0
"""Scans, atomic operations, bit casts and printing of NumPy values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from xtc.core.tile_layout import RegisterLayout
from xtc.tile.interpreter import sums
from xtc.tile.interpreter.elements import Array

_ACCUMULATED: Mapping[str, Any] = MappingProxyType(
    {
        "add": np.add,
        "mul": np.multiply,
        "max": np.maximum,
        "min": np.minimum,
        "umax": np.maximum,
        "umin": np.minimum,
        "and": np.bitwise_and,
        "or": np.bitwise_or,
        "xor": np.bitwise_xor,
    }
)


def identity(kind: str, dtype: np.dtype[Any]) -> Any:
    """The identity element of an operation."""
    if kind in ("add", "or", "xor", "umax"):
        return dtype.type(0)
    if kind == "mul":
        return dtype.type(1)
    if kind in ("and", "umin"):
        return dtype.type(-1)
    if dtype.kind == "i":
        limits = np.iinfo(dtype)
        return dtype.type(limits.min if kind == "max" else limits.max)
    return dtype.type(-np.inf if kind == "max" else np.inf)


def scanned(value: Array, dim: int, kind: str, exclusive: bool) -> Array:
    """Each element combined with those before it."""
    unsigned = kind.startswith("u")
    seen = value.view(f"u{value.dtype}") if unsigned else value
    with np.errstate(all="ignore"):
        if value.dtype.kind in "iub":
            found = _ACCUMULATED[kind].accumulate(seen, axis=dim, dtype=seen.dtype)
        else:
            found = sums.scanned(value, dim, _ACCUMULATED[kind])
    result: Array = found.view(value.dtype)
    if not exclusive:
        return result
    moved = np.roll(result, 1, axis=dim)
    first = tuple(slice(0, 1) if at == dim else slice(None) for at in range(value.ndim))
    moved[first] = identity(kind, value.dtype)
    return moved


def combined(kind: str, before: Any, value: Any, compared: Any) -> Any:
    """The value that an atomic operation writes."""
    if kind == "exch":
        return value
    if kind == "cas":
        return value if before == compared else before
    if kind in ("umax", "umin"):
        a, b = (np.asarray(v).view(f"u{np.asarray(v).dtype}") for v in (before, value))
        return before if (a >= b if kind == "umax" else a <= b) else value
    with np.errstate(all="ignore"):
        return _ACCUMULATED[kind](before, value)


def viewed(
    value: Array,
    layouts: tuple[RegisterLayout, RegisterLayout],
    shape: Sequence[int],
    bits: tuple[int, int],
    dtype: np.dtype[Any],
) -> Array:
    """Reinterpret the bits that each thread holds; negative widths are signed."""
    source, target = layouts
    whole = np.zeros(source.shape, value.dtype)
    whole[tuple(map(slice, value.shape))] = value
    result = np.zeros(target.shape, dtype)
    for thread in range(source.spatial_size):
        held = [whole[source.element(thread, at)] for at in range(source.local_size)]
        elements = regrouped(_codes(held, abs(bits[0])), abs(bits[0]), abs(bits[1]))
        for at, code in enumerate(elements):
            result[target.element(thread, at)] = _decoded(code, bits[1], dtype)
    return result[tuple(map(slice, shape))]


def regrouped(codes: Sequence[int], before: int, after: int) -> list[int]:
    """Regroup codes of `before` bits, the first in the lowest bits, to `after` bits."""
    whole = 0
    for at, code in enumerate(codes):
        whole |= code << at * before
    return [whole >> at * after & ((1 << after) - 1) for at in range(len(codes) * before // after)]


def _codes(values: Sequence[Any], bits: int) -> list[int]:
    mask = (1 << bits) - 1
    return [int(np.asarray(v).view(f"u{np.asarray(v).itemsize}")) & mask for v in values]


def _decoded(code: int, bits: int, dtype: np.dtype[Any]) -> Any:
    if bits < 0 and code >> (-bits - 1):
        code -= 1 << -bits
    nbytes = (code & ((1 << 8 * dtype.itemsize) - 1)).to_bytes(dtype.itemsize, "little")
    return np.frombuffer(nbytes, dtype)[0]


def printed(format: str, values: Sequence[Any], show: Callable[[str], None]) -> None:
    """Print numbers, given as bits in `values`, as C's printf does."""
    given = iter(values)
    fields = re.findall(r"%[-+ #0-9.]*(?:ll)?([diouxXeEfFgGc%])", format)
    parts = tuple(_shown(next(given), field) for field in fields if field != "%")
    text = re.sub(r"(%[-+ #0-9.]*)ll", r"\1", format)
    show(re.sub(r"(%[-+ #0-9.]*)u", r"\1d", text) % parts)


def _shown(bits: Any, field: str) -> Any:
    word = np.asarray(bits, np.int64)
    if field in "eEfFgG":
        return float(word.view(np.float64))
    return int(word.view(np.uint64) if field in "ouxX" else word)

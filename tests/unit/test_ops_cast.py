# SPDX-License-Identifier: Apache-2.0
"""cast: every pair of element types against exact rational arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import xtc.ops as O
from tests.unit.ops_support import (
    ALL,
    FLOATS,
    INTS,
    UNSIGNED,
    Array,
    data,
    exactly,
    graph_of,
    results,
)
from xtc.core.errors import UserError
from xtc.core.types import ELEMENT_TYPES

PRECISION = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}


def values(dtype: str) -> Array:
    """Random values, limits of every type and their neighbors, ties, special values."""
    numpy = ELEMENT_TYPES[dtype].numpy
    if dtype == "bool":
        return np.array([False, True])
    limits = [
        sign * (2**bits + step)
        for bits in (7, 15, 31, 63)
        for sign in (1, -1)
        for step in (-1, 0, 1)
    ]
    if dtype in (*INTS, *UNSIGNED):
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        ties = [
            2**24 + 1,
            2**24 + 3,
            2**53 + 1,
            257,
            259,
            0,
            1,
            -1,
            65519,
            65520,
            2**62 + 2**38 + 1,
        ]
        chosen = [number for number in (*limits, *ties) if low <= number <= high]
        return np.concatenate([np.array(chosen, dtype), data((200,), dtype)])
    special = [0.0, -0.0, 0.5, -0.5, 1.5, -1.99, 2.5, math.inf, -math.inf, math.nan]
    special += [65519.0, 65520.0, 1e-8, 3e-8, 1e-40, 3.4e38, 1 + 2**-9, 1 + 2**-11, 1 + 3 * 2**-12]
    with np.errstate(over="ignore"):
        return np.array([*special, *map(float, limits), *data((200,), "float64", 1) * 300]).astype(
            numpy
        )


def rounded(value: float | int, dtype: str) -> float:
    """To nearest, ties to even; subnormal numbers and overflow as in IEEE 754."""
    if value == 0 or (isinstance(value, float) and not math.isfinite(value)):
        return float(value)
    info = ml_dtypes.finfo(ELEMENT_TYPES[dtype].numpy)
    exact = Fraction(value)
    exponent = math.frexp(float(abs(exact)))[1]
    unit = Fraction(2) ** max(exponent - PRECISION[dtype], int(info.minexp) - PRECISION[dtype] + 1)
    result = round(exact / unit) * unit
    return (
        float(result)
        if abs(result) <= Fraction(float(info.max))
        else math.copysign(math.inf, value)
    )


def converted(value: Any, source: str, to: str) -> Any:
    """The rules of `xtc.ops.cast`, one number at a time."""
    if to == "bool":
        return value != 0
    if to in (*INTS, *UNSIGNED):
        bits = ELEMENT_TYPES[to].bits
        low = 0 if to in UNSIGNED else -(2 ** (bits - 1))
        if source in FLOATS:
            if math.isnan(value):
                return 0
            inside = max(-(2.0**70), min(value, 2.0**70))
            return max(low, min(math.trunc(inside), low + 2**bits - 1))
        return (int(value) - low) % 2**bits + low
    if to == "bfloat16" or (to == "float16" and source in (*INTS, *UNSIGNED)):
        value = rounded(value, "float32")
    return rounded(value, to)


@pytest.mark.slow
@pytest.mark.parametrize("source", ALL)
def test_every_pair_of_types(source: str) -> None:
    x = values(source)
    found = results([lambda x, to=to: O.cast(x, to) for to in ALL], x)
    items = x.astype(np.float64).tolist() if source in FLOATS else x.tolist()
    for to, actual in zip(ALL, found, strict=True):
        numpy = ELEMENT_TYPES[to].numpy
        items_as_to = [value if to == source else converted(value, source, to) for value in items]
        expected = np.array(items_as_to, np.float64 if to in FLOATS else numpy).astype(numpy)
        if to == "bfloat16":  # x86 processors flush subnormal numbers to 0
            actual, expected = flushed(actual), flushed(expected)
        exactly(actual, expected)


def flushed(array: Array) -> Array:
    smallest = ml_dtypes.finfo(array.dtype).smallest_normal
    with np.errstate(invalid="ignore"):
        return np.where(abs(array) < smallest, np.zeros((), array.dtype), array)


def test_signs_of_zero_survive_between_floats() -> None:
    (found,) = results([lambda x: O.cast(x, "float16")], np.array([-0.0, 0.0, -1e-300]))
    assert np.signbit(found).tolist() == [True, False, True]


def test_numpy_types_name_element_types() -> None:
    x = data((3,), "float32")
    graph = graph_of([lambda x: O.cast(x, np.int8), lambda x: O.cast(x, ml_dtypes.bfloat16)], x)
    assert [tensor.dtype for tensor in graph.outputs] == ["int8", "bfloat16"]


@pytest.mark.parametrize(
    ("dtype", "text"),
    [
        ("flot32", "unknown element type 'flot32'"),
        (None, "dtype of cast is None"),
        ("uint7", "unknown element type 'uint7'"),
        ({}, "unknown element type"),
        (3, "unknown element type 3"),
    ],
)
def test_unknown_types_are_refused(dtype: Any, text: str) -> None:
    with pytest.raises(UserError, match=text):
        graph_of([lambda x: O.cast(x, dtype)], data((3,), "float32"))

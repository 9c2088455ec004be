# SPDX-License-Identifier: Apache-2.0
"""Elementary functions computed by this project: errors, and values at the limits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xtc
import xtc.ops as O
from xtc.graph.tensor import Tensor

Array = np.ndarray[Any, Any]

_ERF = np.vectorize(math.erf)


def _erf_by_gelu(x: Tensor) -> Tensor:
    """The exact gelu of x * sqrt(2) is x * sqrt(0.5) * (1 + erf(x))."""
    return O.gelu(x, name="y")


def _arguments() -> Array:
    rng = np.random.default_rng(7)
    parts = [
        rng.uniform(-110, 95, 40_000),
        rng.normal(size=40_000),
        rng.uniform(0.6, 0.65, 5_000),
        10.0 ** rng.uniform(-38, 1, 5_000) * rng.choice([-1, 1], 5_000),
    ]
    return np.concatenate(parts).astype(np.float32)


def _computed(write: Callable[..., Tensor], x: Array) -> Array:
    with O.graph(name="function") as gb:
        write(O.tensor(x.shape, name="x"))
    with xtc.compile(gb.graph, in_memory=True) as module:
        return np.asarray(module(x))


@pytest.mark.parametrize(("write", "meaning"), [(O.exp, np.exp), (O.tanh, np.tanh)])
def test_errors_are_at_most_two_units_in_the_last_place(
    write: Callable[..., Tensor], meaning: Callable[[Array], Array]
) -> None:
    x = _arguments()
    with np.errstate(over="ignore"):
        exact = meaning(x.astype(np.float64))
        expected = exact.astype(np.float32)
    y = _computed(write, x)
    finite = np.isfinite(expected)
    assert (y[~finite] == expected[~finite]).all()
    unit = np.spacing(np.abs(expected[finite])).astype(np.float64)
    assert (np.abs(y[finite].astype(np.float64) - exact[finite]) <= 2 * unit).all()


def test_erf_is_close_to_the_exact_function() -> None:
    x = np.linspace(-6, 6, 20_001, dtype=np.float32)
    exact = 0.5 * x.astype(np.float64) * (1 + _ERF(x.astype(np.float64) * math.sqrt(0.5)))
    assert np.abs(_computed(_erf_by_gelu, x) - exact).max() < 1e-6


@pytest.mark.parametrize(
    ("write", "values"),
    [
        (O.exp, [1, 1, math.inf, 0, math.nan, math.inf, 0]),
        (O.tanh, [0, -0.0, 1, -1, math.nan, 1, -1]),
    ],
)
def test_values_at_the_limits(write: Callable[..., Tensor], values: list[float]) -> None:
    x = np.array([0, -0.0, math.inf, -math.inf, math.nan, 3e38, -3e38], np.float32)
    y = _computed(write, x)
    assert np.array_equal(y, np.array(values, np.float32), equal_nan=True)
    assert (np.signbit(y) == np.signbit(values))[~np.isnan(values)].all()

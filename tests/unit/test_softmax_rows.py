# SPDX-License-Identifier: Apache-2.0
"""Softmax of rows long enough for partial sums: correct for every length and for NaN."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import xtc
import xtc.ops as O

pytestmark = pytest.mark.slow

Array = np.ndarray[Any, Any]


def _softmax(shape: tuple[int, ...], type: str = "float32", **options: Any) -> xtc.Module:
    with O.graph(name="softmax") as gb:
        O.softmax(O.tensor(shape, type, name="x"), name="y")
    return xtc.compile(gb.graph, in_memory=True, **options)


@pytest.mark.parametrize("length", [1, 2, 17, 127, 128, 131, 1009, 5000])
def test_rows_of_any_length(length: int) -> None:
    with _softmax((9, length)) as module:
        module.check()


@pytest.mark.parametrize("type", ["float16", "bfloat16", "float64"])
def test_types(type: str) -> None:
    with _softmax((9, 300), type) as module:
        module.check()


@pytest.mark.parametrize("length", [40, 300])
def test_infinities_and_nan_propagate(length: int) -> None:
    x = np.zeros((7, length), np.float32)
    x[0] = -np.inf
    x[1, 3] = np.nan
    x[2, length - 1] = np.inf
    x[3, 1:] = -np.inf
    x[4, ::2] = -np.inf
    x[5, 0] = 3e38
    with _softmax(x.shape) as module:
        y = np.asarray(module(x))
    assert np.isnan(y[:3]).all()
    for row in (3, 5):
        assert y[row].tolist() == [1] + [0] * (length - 1)
    assert np.allclose(y[4, 1::2], 2 / length)
    assert not y[4, ::2].any()
    assert np.allclose(y[6], 1 / length)


def test_threads_change_no_bits() -> None:
    x = np.random.default_rng(5).normal(size=(1024, 300)).astype(np.float32)
    results = []
    for threads in (1, 2):
        with _softmax(x.shape, threads=threads) as module:
            results.append(np.asarray(module(x)))
    assert np.array_equal(*results)

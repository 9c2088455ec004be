# SPDX-License-Identifier: Apache-2.0
"""Tile kernels on the simulator and in the interpreter, against NumPy."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from examples.tile.attention import Attention
from tests.unit.tile_kernels import (
    Control,
    Copy,
    EarlyReturns,
    Matmul,
    NewNames,
    RowSoftmax,
    Shapes,
    VectorAdd,
)
from xtc.tile import bfloat16, float16, float32, float64, int8, int32

pytestmark = pytest.mark.slow


def both(program: Any, arguments: list[Any], out: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The values that the simulator and the interpreter write to an argument."""
    results = []
    for run in (program, program.check):
        out[...] = np.zeros((), out.dtype)
        run(*arguments)
        results.append(out.copy())
    return results[0], results[1]


@pytest.mark.parametrize("size", [1, 511, 512, 1000])
def test_vector_add(size: int) -> None:
    x, y = (np.random.default_rng(n).random(size, np.float32) for n in (0, 1))
    z = np.zeros_like(x)
    for result in both(VectorAdd(), [size, x, y, z], z):
        np.testing.assert_array_equal(result, x + y)


def test_a_run_time_number_does_not_recompile() -> None:
    program = VectorAdd()
    kernels = {id(program.compile(size, None, None, None)) for size in (5, 6, 7)}
    assert len(kernels) == 1


@pytest.mark.parametrize(
    ("dtype", "total", "atol"),
    [
        (float16, float32, 1e-4),
        (bfloat16, float32, 1e-4),
        (float32, float32, 1e-4),
        (float64, float64, 1e-12),
        (int8, int32, 0),
        (int32, int32, 0),
    ],
)
def test_dot_of_every_type(dtype: Any, total: Any, atol: float) -> None:
    rng = np.random.default_rng(3)
    m, n, k = 37, 19, 45
    a = (3 * rng.standard_normal((m, k))).astype(dtype.numpy)
    b = (3 * rng.standard_normal((k, n))).astype(dtype.numpy)
    c = np.zeros((m, n), total.numpy)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    for result in both(Matmul(dtype, total), [m, n, k, a, b, c], c):
        np.testing.assert_allclose(result, expected, atol=atol, rtol=1e-6)


def test_softmax_of_ragged_rows() -> None:
    x = np.random.default_rng(4).standard_normal((33, 77)).astype(np.float32)
    y = np.zeros_like(x)
    expected = np.exp(x - x.max(1, keepdims=True))
    expected /= expected.sum(1, keepdims=True)
    for result in both(RowSoftmax(), [33, 77, x, y], y):
        np.testing.assert_allclose(result, expected, rtol=1e-5)


def test_attention_keeps_probabilities_in_registers() -> None:
    rng = np.random.default_rng(5)
    n, d = 100, 64
    q, k, v = (rng.standard_normal((n, d)).astype(np.float16) for _ in range(3))
    o = np.zeros_like(q)
    program = Attention()
    arguments = [n, d, 0.125, q, k, v, o]
    assert "convert_layout" not in program.compile(*arguments).ir("scheduled")
    scores = 0.125 * (q.astype(np.float32) @ k.astype(np.float32).T)
    weights = np.exp(scores - scores.max(1, keepdims=True))
    expected = weights / weights.sum(1, keepdims=True) @ v.astype(np.float32)
    for result in both(program, arguments, o):
        np.testing.assert_allclose(result, expected, atol=2e-3)


def reference(n: int) -> np.ndarray:
    """The expected result of Control."""
    tile, total = np.arange(32), 0
    for i in range(n):
        if i == 7:
            break
        if i % 2 == 1:
            continue
        total += i
        tile = tile + i
    while total > 10:
        total -= 3
    extra = 5 if n > 3 else 6
    for u in range(10, 0, -3):
        total += u
    return (tile + 3 + total * 100 + extra).astype(np.int32)


@pytest.mark.parametrize("n", [0, 3, 5, 20])
def test_control_flow(n: int) -> None:
    x = np.zeros(32, np.int32)
    for result in both(Control(), [n, x], x):
        np.testing.assert_array_equal(result, reference(n))


@pytest.mark.parametrize("kind", ["plain", "both", "other"])
def test_methods_return_values_early(kind: str) -> None:
    program, python = EarlyReturns(kind), SimpleNamespace(kind=kind)
    for n in (1, 4, 7, 8):
        x = np.arange(64, dtype=np.int32)
        expected = EarlyReturns.changed(python, EarlyReturns.changed(python, x, n), n)
        program.check(n, x)
        np.testing.assert_array_equal(x, expected)


def test_consecutive_loops_may_assign_the_same_new_name() -> None:
    x = np.zeros(40, np.int32)
    for found in both(NewNames(), [40, x], x):
        np.testing.assert_array_equal(found, np.full(40, 3))


def test_shapes_and_reductions() -> None:
    x = np.random.default_rng(6).integers(-50, 50, (32, 48)).astype(np.int32)
    y = np.zeros((48, 32), np.int32)
    expected = x.T + x.sum(1)[None, :] * 2 + x.max(0)[:, None] - x.min() + np.arange(48)[:, None]
    for result in both(Shapes(), [x, y], y):
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("columns", [64, 66, 63])
@pytest.mark.parametrize("dtype", ["float16", "float32", "bfloat16"])
def test_copies_of_every_width(columns: int, dtype: str) -> None:
    """Rows that are multiples of 16 bytes, of 4, and of neither."""
    numpy = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    x = np.random.default_rng(7).standard_normal((40, columns)).astype(numpy)
    y = np.zeros_like(x)
    for result in both(Copy(dtype), [40, columns, x, y], y):
        np.testing.assert_array_equal(result, x)

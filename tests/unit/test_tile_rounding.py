# SPDX-License-Identifier: Apache-2.0
"""The interpreter rounds like machines: multiply-adds once, sums in the order of a layout."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from xtc.tile.interpreter.fused import fused
from xtc.tile.interpreter.sums import multiplied, scanned, summed
from xtc.tile.layout import local, spatial

RNG = np.random.default_rng(0)


def spread(count: int, dtype: Any) -> Any:
    """Numbers of many magnitudes."""
    return (RNG.standard_normal(count) * 10.0 ** RNG.integers(-6, 6, count)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_multiply_add_rounds_once(dtype: Any) -> None:
    """No number of the type is nearer to the exact result, even after cancellation."""
    a, b = spread(300, dtype), spread(300, dtype)
    c = (-a * b * (1 + RNG.standard_normal(300) * 10.0 ** RNG.integers(-18, 1, 300))).astype(dtype)
    found = fused(a, b, c)
    assert (found != a * b + c).any()
    for x, y, z, made in zip(a, b, c, found, strict=True):
        exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
        near = [np.nextafter(made, dtype(np.inf)), np.nextafter(made, dtype(-np.inf))]
        distances = [abs(Fraction(float(other)) - exact) for other in near]
        assert abs(Fraction(float(made)) - exact) <= min(distances)


def test_nan_propagates() -> None:
    inf, most = np.float32(np.inf), np.finfo(np.float32).max
    assert np.isnan(fused(inf, np.float32(0), np.float32(1)))
    assert fused(inf, np.float32(2), -most) == inf
    assert fused(most, most, np.float32(0)) == inf


def test_a_sum_is_reduced_over_registers_lanes_and_warps() -> None:
    """64 threads with 2 adjacent elements each."""
    x = RNG.standard_normal((1, 128)).astype(np.float32)
    layout = spatial(1, 64) * local(1, 2)
    pairs = [x[0, 2 * at] + x[0, 2 * at + 1] for at in range(64)]
    warps = []
    for warp in (pairs[:32], pairs[32:]):
        while len(warp) > 1:
            warp = [a + b for a, b in zip(warp[0::2], warp[1::2], strict=True)]
        warps += warp
    assert summed(x, layout, 1)[0, 0] == warps[0] + warps[1]


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_narrow_sums_round_once(dtype: Any) -> None:
    """bfloat16 cannot add 1 or 0.25 to 1024."""
    x = np.array([[1024] + [1] * 7], dtype)
    layout = local(1, 8)
    assert summed(x, layout, 1)[0, 0] == dtype(1031)
    assert scanned(x, 1, np.add)[0, -1] == dtype(1031)
    half = np.full((1, 8), 0.5, dtype)
    assert multiplied(half, half.T, np.array([[1024]], dtype))[0, 0] == dtype(1026)


def test_tensor_cores_round_every_sixteen() -> None:
    a = np.ones((1, 32), np.float16)
    c = np.array([[2**24]], np.float32)
    assert multiplied(a, a.T, c, step=16)[0, 0] == 2**24 + 32
    assert multiplied(a, a.T, c)[0, 0] == 2**24  # each 1 is lost

# SPDX-License-Identifier: Apache-2.0
"""quantize, dequantize and requantize: against independent formulas, and refusals."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

import xtc
import xtc.ops as O
from xtc.core.errors import UserError
from xtc.graph.graph import Graph
from xtc.graph.tensor import Tensor
from xtc.ops.requantize import fixed_point

SCALES = (1.0, 0.5, 0.3, 0.0123, 1.7, 2.0**-12, 3.9e-7, 2.0**-31)
CHANNELS = len(SCALES)


def half_away(x: Fraction) -> int:
    whole = math.floor(abs(x) + Fraction(1, 2))
    return whole if x >= 0 else -whole


def half_up(x: Fraction) -> int:
    return math.floor(x + Fraction(1, 2))


def exact(x: int, scale: float, rounding: str) -> int:
    """The definition in rational numbers."""
    multiplier, left, right = fixed_point(scale)
    if rounding == "single":
        return half_up(Fraction(x * multiplier, 1 << 31) * Fraction(2) ** (left - right))
    high = half_up(Fraction((x << left) * multiplier, 1 << 31))
    return half_away(Fraction(high, 1 << right))


def numbers(seed: int, rows: int = 64) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = rng.integers(-(1 << 29), 1 << 29, (rows, CHANNELS), np.int32)
    return np.asarray(x >> rng.integers(0, 29, x.shape, np.int32))


@pytest.mark.slow
@pytest.mark.parametrize("rounding", ["double", "single"])
@pytest.mark.parametrize("dtype", ["int8", "int32"])
def test_requantize_is_exact(rounding: str, dtype: str) -> None:
    x = O.tensor((64, CHANNELS), "int32", name="x")
    with O.graph(name="channels") as gb:
        O.requantize(x, SCALES, zero_point=-3, dtype=dtype, rounding=rounding, name="y")
    values = numbers(0)
    with xtc.compile(gb.graph) as module:
        module.check(values)
        got = module(values)
    limits = np.iinfo(dtype)
    for row, wanted in zip(values.tolist(), got.tolist(), strict=True):
        for number, scale, steps in zip(row, SCALES, wanted, strict=True):
            assert steps == min(max(exact(number, scale, rounding) - 3, limits.min), limits.max)


@pytest.mark.slow
def test_ties_and_limits() -> None:
    x = O.tensor((256,), "int32", name="x")
    with O.graph(name="ties") as gb:
        O.requantize(x, 0.125, name="y", low=-6, high=6)
    values = np.arange(-128, 128, dtype=np.int32)
    with xtc.compile(gb.graph) as module:
        got = module(values)
    wanted = [min(max(exact(v, 0.125, "double"), -6), 6) for v in values.tolist()]
    assert got.tolist() == wanted


@pytest.mark.slow
def test_quantize_and_dequantize() -> None:
    x = O.tensor((40, 2), name="x")
    with O.graph(name="round_trip") as gb:
        q = O.quantize(x, [0.5, 0.25], zero_point=3, name="q")
        r = O.dequantize(q, [0.5, 0.25], zero_point=3, name="r")
        u = O.quantize(x, 0.5, dtype="uint8", zero_point=128, halves="away", name="u")
        O.outputs(q, r, u)
    values = (np.arange(80, dtype=np.float32).reshape(40, 2) - 40) / np.float32(4)
    values[0] = [np.nan, np.inf]
    with xtc.compile(gb.graph) as module:
        module.check(values)
        q, r, u = module(values)
    assert q[0].tolist() == [0, 127]
    np.testing.assert_array_equal(q[1:, 0], np.rint(values[1:, 0] * 2) + 3)
    np.testing.assert_array_equal(r[1:, 1], values[1:, 1])
    ties = values[1:, 0] * 2
    away = np.trunc(ties + np.copysign(0.5, ties))
    np.testing.assert_array_equal(u[1:, 0], away + 128)


@pytest.mark.slow
def test_quantization_parameters_round_trip_in_a_graph_file(tmp_path: object) -> None:
    x = O.tensor((4, CHANNELS), "int32", name="x")
    with O.graph(name="saved") as gb:
        O.requantize(x, SCALES, zero_point=5, rounding="single", name="y")
    path = f"{tmp_path}/saved.yaml"
    gb.graph.save(path)
    values = numbers(1, 4)
    with xtc.compile(gb.graph) as first, xtc.compile(Graph.load(path)) as second:
        np.testing.assert_array_equal(first(values), second(values))


MISTAKES: tuple[tuple[Callable[[Tensor, Tensor], object], str], ...] = (
    (lambda x, f: O.requantize(f, 0.5), "operand of requantize is float32, not int32"),
    (lambda x, f: O.requantize(x, -1.0), "the scale -1.0 of requantize is not between"),
    (lambda x, f: O.requantize(x, 0.5, low=-200), "low=-200 is not a whole number from -128"),
    (lambda x, f: O.requantize(x, 0.5, rounding="up"), "rounding of requantize is 'up'"),
    (lambda x, f: O.requantize(x, [0.5, 0.25]), "shapes .* of requantize do not broadcast"),
    (lambda x, f: O.requantize(x, 0.5, dtype="float32"), "requantize gives integers of up to 32"),
    (lambda x, f: O.quantize(x, 0.5), "quantize is not defined on int32"),
    (lambda x, f: O.quantize(f, 0.5, zero_point=200), "zero_point"),
    (lambda x, f: O.dequantize(f, 0.5), "dequantize is defined on integers"),
)


@pytest.mark.parametrize(("call", "message"), MISTAKES, ids=range(len(MISTAKES)))
def test_invalid_parameters_are_refused(
    call: Callable[[Tensor, Tensor], object], message: str
) -> None:
    x, f = O.tensor((4, 3), "int32"), O.tensor((4, 3))
    with pytest.raises(UserError, match=message), O.graph():
        call(x, f)


@pytest.mark.slow
def test_poolings_of_integers() -> None:
    x = O.tensor((1, 7, 6, 3), "int8", name="x")
    with O.graph(name="poolings") as gb:
        O.outputs(
            O.avg_pool2d(x, 3, stride=2, padding="same", name="edges"),
            O.avg_pool2d(x, 2, name="halves"),
            O.max_pool2d(x, 3, stride=2, padding="same", name="largest"),
        )
    values = np.random.default_rng(0).integers(-128, 128, (1, 7, 6, 3), np.int8)
    with xtc.compile(gb.graph) as module:
        module.check(values)
        edges, halves, _ = module(values)
    windows = values[0, :6].astype(int).reshape(3, 2, 3, 2, 3)
    for row, column, channel in np.ndindex(3, 3, 3):
        total = Fraction(int(windows[row, :, column, :, channel].sum()), 4)
        assert halves[0, row, column, channel] == half_away(total)
    corner = Fraction(int(values[0, :2, :3, 1].astype(int).sum()), 6)
    assert edges[0, 0, 0, 1] == half_away(corner)


@pytest.mark.slow
def test_softmax_of_integers_is_near_that_of_reals() -> None:
    x = O.tensor((64, 12), "int8", name="x")
    with O.graph(name="softmax") as gb:
        O.quantized_softmax(x, 0.07, beta=0.8, name="y")
    values = np.random.default_rng(0).integers(-128, 128, (64, 12), np.int8)
    values[0] = -128
    with xtc.compile(gb.graph) as module:
        module.check(values)
        got = module(values)
    powers = np.exp(values * 0.056)
    wanted = np.minimum(powers / powers.sum(axis=1, keepdims=True) * 256, 255) - 128
    assert np.abs(got - wanted).max() <= 0.51


def test_refusals_of_softmax() -> None:
    with pytest.raises(UserError, match="quantized_softmax takes int8, not float32"):
        O.quantized_softmax(O.tensor((4,), "float32"), 0.1)
    with pytest.raises(UserError, match="rows of 1 to 4095 elements"):
        O.quantized_softmax(O.tensor((4, 4096), "int8"), 0.1)
    with pytest.raises(UserError, match="is below 2\\^-26"):
        O.quantized_softmax(O.tensor((4,), "int8"), 1e-9)

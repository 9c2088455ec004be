# SPDX-License-Identifier: Apache-2.0
"""Narrow element types in models from ONNX, compared with the package ml_dtypes."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")

import xtc  # noqa: E402
import xtc.ops as O  # noqa: E402
from xtc.importers.onnx.narrow import FLOATS, INTEGERS, narrow, narrow_cast, widened  # noqa: E402

SPECIAL = [0.0, -0.0, 1e-12, -1e-12, 1e-3, 0.25, 0.75, 1.75, 5.0, 1e30, np.inf, -np.inf, np.nan]


def numbers(limit: float) -> Any:
    """Numbers of all magnitudes, midpoints between neighbors, and special values."""
    rng = np.random.default_rng(0)
    spread = np.exp2(rng.uniform(-20, np.log2(limit), 2000)) * rng.choice([-1, 1], 2000)
    return np.array([*SPECIAL, *spread, *(rng.integers(-64, 64, 200) / 8)], np.float32)


@pytest.mark.parametrize("kind", sorted(FLOATS))
def test_floats_are_rounded_as_in_ml_dtypes(kind: str) -> None:
    x = numbers(FLOATS[kind].greatest)
    with O.graph(name="cast") as gb:
        found = narrow_cast(O.tensor(x.shape, name="x"), kind)
        O.outputs(found.bits)
    bits = gb.graph.evaluate(x).view(getattr(ml_dtypes, kind)).astype(np.float32)
    expected = x.astype(getattr(ml_dtypes, kind)).astype(np.float32)
    # ml_dtypes overflows to NaN and infinities, ONNX to the largest number.
    largest = FLOATS[kind].greatest
    beyond = np.abs(x) >= largest
    expected[beyond] = np.copysign(largest, x[beyond])
    finite = ~np.isnan(x)
    np.testing.assert_array_equal(bits[finite], expected[finite])


@pytest.mark.parametrize("kind", sorted(FLOATS))
def test_every_float_is_read(kind: str) -> None:
    every = np.arange(16 if kind == "float4_e2m1fn" else 256, dtype=np.uint8)
    with O.graph(name="read") as gb:
        O.outputs(widened(narrow(O.tensor(every.shape, "uint8", name="x"), kind)))
    expected = every.view(getattr(ml_dtypes, kind)).astype(np.float32)
    np.testing.assert_array_equal(gb.graph.evaluate(every), expected)


@pytest.mark.parametrize("kind", sorted(INTEGERS))
def test_integers_keep_their_low_bits(kind: str) -> None:
    x = np.arange(-40, 40, dtype=np.int32)
    with O.graph(name="cast") as gb:
        O.outputs(narrow_cast(O.tensor(x.shape, "int32", name="x"), kind).bits)
    size = 4 if kind.endswith("4") else 2
    low = x & ((1 << size) - 1)
    expected = low - ((low >> (size - 1)) << size) if kind.startswith("int") else low
    np.testing.assert_array_equal(gb.graph.evaluate(x), expected)


@pytest.mark.slow
def test_callers_pass_and_get_arrays_of_narrow_types() -> None:
    helper, types = onnx.helper, onnx.TensorProto
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "scale"], ["wide"]),
        helper.make_node("Mul", ["wide", "wide"], ["square"]),
        helper.make_node("Cast", ["square"], ["y"], to=types.FLOAT8E4M3FN),
        helper.make_node("Add", ["square", "square"], ["z"]),
    ]
    graph = helper.make_graph(
        nodes,
        "few",
        [helper.make_tensor_value_info("x", types.INT4, ["n"])],
        [
            helper.make_tensor_value_info("y", types.FLOAT8E4M3FN, ["n"]),
            helper.make_tensor_value_info("z", types.FLOAT, ["n"]),
        ],
        initializer=[onnx.numpy_helper.from_array(np.array(0.5, np.float32), "scale")],
    )
    opsets = [helper.make_opsetid("", 21)]
    model = xtc.from_onnx(helper.make_model(graph, opset_imports=opsets, ir_version=10))
    x = np.arange(-8, 8).astype(ml_dtypes.int4)
    with xtc.compile(model) as module:
        y, z = module(x)
    square = np.square(np.arange(-8, 8, dtype=np.float32) / 2)
    assert y.dtype == ml_dtypes.float8_e4m3fn
    np.testing.assert_array_equal(y.astype(np.float32), square.astype(y.dtype).astype(np.float32))
    np.testing.assert_array_equal(z, 2 * square)

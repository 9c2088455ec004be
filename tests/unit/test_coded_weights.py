# SPDX-License-Identifier: Apache-2.0
"""Weights in narrow codes, with a scale for each group of rows."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import xtc
import xtc.ops as O
from xtc.core.errors import UserError

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(0)


def random_weights(k: int, n: int, groups: int, bits: int) -> tuple[Array, Array, Array]:
    """Codes, scales and zero points."""
    codes = RNG.integers(0, 1 << bits, (k, n)).astype(np.uint8)
    return codes, RNG.random((groups, n), np.float32), RNG.integers(0, 1 << bits, (groups, n))


def dequantized(codes: Array, scales: Array, zeros: Array | float) -> Array:
    """The float32 values of the codes."""
    k, n = codes.shape
    parts = codes.reshape(len(scales), -1, n).astype(np.float32)
    zeros = zeros[:, np.newaxis] if isinstance(zeros, np.ndarray) else zeros
    whole: Array = (parts - np.asarray(zeros, np.float32)) * scales[:, np.newaxis]
    return whole.reshape(k, n)


@pytest.mark.slow
@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("rows", [1, 5, 40])
@pytest.mark.parametrize("threads", [1, 2])
def test_matmuls_equal_those_of_the_dequantized_weights(bits: int, rows: int, threads: int) -> None:
    codes, scales, zeros = random_weights(256, 640, 8, bits)
    x = O.tensor((rows, 256), name="x")
    with O.graph(name="g") as gb:
        O.matmul(x, O.coded_weights(codes, scales, zeros, bits=bits), name="y")
    values = RNG.random((rows, 256), np.float32)
    with xtc.compile(gb.graph, threads=threads) as module:
        wanted = values @ dequantized(codes, scales, zeros)
        np.testing.assert_allclose(module(values), wanted, rtol=1e-3, atol=1e-3)
        folder = module.artifact.folder
        assert folder is not None
        stored = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    assert stored < 256 * 640 * bits // 8 + 200_000


@pytest.mark.slow
@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize(("rows", "columns"), [(1, 650), (2, 100), (8, 640), (9, 644)])
def test_default_zero_points_give_the_same_matmuls(bits: int, rows: int, columns: int) -> None:
    codes, scales, _ = random_weights(192, columns, 6, bits)
    with O.graph(name="g") as gb:
        O.matmul(O.tensor((rows, 192), name="x"), O.coded_weights(codes, scales, bits=bits))
    values = RNG.random((rows, 192), np.float32) - np.float32(0.5)
    with xtc.compile(gb.graph, threads=1) as module:
        wanted = values @ dequantized(codes, scales, 1 << bits - 1)
        np.testing.assert_allclose(module(values), wanted, rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("threads", [1, 2])
def test_weights_for_few_rows_are_dequantized_without_a_buffer(bits: int, threads: int) -> None:
    codes, scales, zeros = random_weights(256, 640, 8, bits)
    with O.graph(name="g") as gb:
        O.matmul(O.tensor((4, 256), name="x"), O.coded_weights(codes, scales, zeros, bits=bits))
    with xtc.compile(gb.graph, threads=threads) as module:
        assert "memref.alloc" not in module.ir("bufferized")


def test_scales_may_cover_whole_columns_with_default_zero_points() -> None:
    codes, scales, _ = random_weights(6, 4, 1, 4)
    with O.graph(name="g") as gb:
        O.matmul(O.tensor((2, 6), name="x"), O.coded_weights(codes, scales, bits=4), name="y")
    x = RNG.random((2, 6), np.float32)
    np.testing.assert_allclose(gb.graph.evaluate(x), x @ dequantized(codes, scales, 8), rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "int8", "uint8"])
@pytest.mark.parametrize("transposed", [False, True])
def test_cast_weights_are_read_as_they_are_stored(dtype: str, transposed: bool) -> None:
    x = O.tensor((3, 128), name="x")
    shape = (320, 128) if transposed else (128, 320)
    weights = RNG.integers(0, 100, shape).astype(O.tensor((1,), dtype).element.numpy)
    with O.graph(name="g") as gb:
        w = O.cast(O.tensor(shape, dtype, name="w", const=weights), "float32")
        O.matmul(x, w, transpose_b=transposed, name="y")
    values = RNG.random((3, 128), np.float32)
    with xtc.compile(gb.graph, threads=1) as module:
        wide = weights.astype(np.float32)
        np.testing.assert_allclose(
            module(values), values @ (wide.T if transposed else wide), rtol=1e-4
        )
        assert "tensor<128x320xf32>" not in module.ir("scheduled")


@pytest.mark.parametrize(
    ("codes", "scales", "options", "text"),
    [
        ((4, 2), (1, 2), {"bits": 5}, "codes have 4 or 8 bits, not 5"),
        ((4, 2, 1), (1, 2), {}, "codes must be uint8 with two dimensions, not uint8 with 3"),
        ((4, 2), (1, 2), {"bits": 4}, "code 255 does not fit in 4 bits"),
        ((4, 2), (3, 2), {}, "scales (3, 2) do not match groups of rows of codes (4, 2)"),
        (
            (4, 2),
            (2, 2),
            {"zero_points": np.zeros((1, 2))},
            "zero points have the shape of scales, not (1, 2)",
        ),
    ],
)
def test_invalid_codes_and_scales_are_refused(
    codes: tuple[int, ...], scales: tuple[int, ...], options: dict[str, Any], text: str
) -> None:
    given = np.full(codes, 255, np.uint8)
    with pytest.raises(UserError, match=re.escape(text)), O.graph(name="g"):
        O.coded_weights(given, np.ones(scales, np.float32), **options)


def test_odd_groups_of_four_bit_codes_are_refused() -> None:
    codes = np.zeros((6, 2), np.uint8)
    with pytest.raises(UserError, match="a group of 3 rows of 4 bits"), O.graph(name="g"):
        O.coded_weights(codes, np.ones((2, 2), np.float32), bits=4)

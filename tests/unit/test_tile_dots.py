# SPDX-License-Identifier: Apache-2.0
"""`dot` of narrow operands, of tfloat32, and of unsigned integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.unit.nvgpu_code import needs_ptxas
from tests.unit.tile_dots import Dot, OddDots
from xtc import tile
from xtc.core.errors import UserError
from xtc.tile import float32, int8, int32

pytestmark = pytest.mark.slow


def _operand(dtype: tile.DataType, columns: int) -> tile.Tensor:
    """Random numbers of the type: all integers, or small floats."""
    random = np.random.default_rng(columns)
    if dtype.is_float():
        values = random.integers(-2, 3, (32, columns)).astype(np.float32)
    else:
        most = int(dtype.greatest) + 1
        values = random.integers(int(dtype.least), most, (32, columns)).astype(np.int32)
    return tile.from_torch(values).to(dtype)


@pytest.mark.parametrize(
    ("left", "right", "total", "on_tensor_cores"),
    [
        (tile.float8_e4m3, tile.float8_e4m3, float32, True),
        (tile.float8_e5m2, tile.float8_e4m3, float32, True),
        (tile.float6_e3m2, tile.float4_e2m1, float32, True),
        (tile.float16, tile.float16, tile.float16, True),
        (tile.bfloat16, tile.bfloat16, tile.bfloat16, True),
        (tile.tfloat32, tile.tfloat32, float32, True),
        (tile.int4b, tile.int7b, int32, True),
        (tile.uint7b, int8, int32, True),
        (int8, int8, int32, True),
        (int8, int8, tile.int64, False),
        (tile.uint8, tile.uint8, int32, False),
        (tile.uint16, tile.uint16, tile.uint32, False),
    ],
    ids=str,
)
def test_operands_of_each_type(
    left: tile.DataType, right: tile.DataType, total: tile.DataType, on_tensor_cores: bool
) -> None:
    a, b = _operand(left, 32), _operand(right, 16)
    wide = np.float64 if total.is_float() else np.int64
    expected = (a.values().astype(wide) @ b.values().astype(wide)).astype(total.numpy)
    program = Dot(left, right, total)
    for run in (program.check, program):
        c = np.zeros((32, 16), total.numpy)
        run(a, b, c)
        np.testing.assert_array_equal(c, expected)
    assert ("mma.sync" in program.compile(None, None, None).ptx) == on_tensor_cores


@pytest.mark.parametrize(
    ("sizes", "dtype", "total", "on_tensor_cores"),
    [
        ((17, 9, 31), tile.float16, float32, True),
        ((40, 33, 20), int8, int32, True),
        ((2, 33, 20), tile.float16, float32, False),
        ((13, 7, 10), float32, float32, False),
    ],
    ids=str,
)
def test_sizes_that_are_no_multiples(
    sizes: tuple[int, int, int], dtype: tile.DataType, total: tile.DataType, on_tensor_cores: bool
) -> None:
    (m, n, k), random = sizes, np.random.default_rng(0)
    a, b = (random.integers(-1, 2, shape).astype(dtype.numpy) for shape in ((m, k), (k, n)))
    wide = b.astype(np.float64)
    expected = (a + 1).astype(np.float64) @ wide @ wide.T
    expected += expected.sum(1, keepdims=True)
    program = OddDots(sizes, dtype, total)
    for run in (program.check, program):
        d = np.zeros((m, k), total.numpy)
        run(a, b, d)
        np.testing.assert_array_equal(d, expected)
    assert ("mma.sync" in program.compile(None, None, None).ptx) == on_tensor_cores


@needs_ptxas
@pytest.mark.parametrize(("dtype", "total"), [(tile.tfloat32, float32), (int8, int32)], ids=str)
def test_machine_code_of_other_types_multiplies_on_tensor_cores(
    dtype: tile.DataType, total: tile.DataType
) -> None:
    kernel: Any = Dot(dtype, dtype, total, shared=True).compile(None, None, None)
    assert "IMMA" in kernel.sass if dtype == int8 else "HMMA" in kernel.sass
    needs = kernel.resources
    assert (needs.spilled_bytes, needs.local_bytes, needs.warnings) == (0, 0, ())


@pytest.mark.parametrize("shared", [False, True])
def test_tfloat32_is_multiplied_as_tensor_cores_do(shared: bool) -> None:
    """Low bits are rounded away, and 8 neighbors along K are added at once."""
    random = np.random.default_rng(0)
    a, b = (random.standard_normal((32, n)).astype(np.float32) for n in (32, 16))
    program = Dot(tile.tfloat32, tile.tfloat32, float32, shared)
    found = []
    for run in (program.check, program):
        c = np.zeros((32, 16), np.float32)
        run(a, b, c)
        found.append(c)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_allclose(found[0], a @ b, rtol=0, atol=0.02)
    assert np.abs(found[0] - a @ b).max() > 1e-4


def test_incompatible_types_are_refused() -> None:
    with pytest.raises(UserError, match="dot of float8_e4m3 cannot be accumulated in int32"):
        Dot(tile.float8_e4m3, tile.float8_e4m3, int32).compile(None, None, None)
    with pytest.raises(UserError, match="two tiles of the same type, not int4b and float6_e3m2"):
        Dot(tile.int4b, tile.float6_e3m2, float32).compile(None, None, None)

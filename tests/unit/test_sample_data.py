# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xtc.core.errors import UserError
from xtc.evaluate.data import sample

FLOATS = ["float16", "bfloat16", "float32", "float64", "float8_e5m2", "float8_e4m3fn"]
INTS = ["int4", "uint4", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


@given(
    shape=st.lists(st.integers(0, 5), max_size=3),
    dtype=st.sampled_from([*FLOATS, *INTS, "bool"]),
    seed=st.integers(0, 2**32),
)
def test_shape_type_and_determinism(shape: list[int], dtype: str, seed: int) -> None:
    first, second = sample(shape, dtype, seed), sample(shape, dtype, seed)
    assert first.shape == tuple(shape)
    assert first.dtype == np.dtype(dtype)
    assert first.tobytes() == second.tobytes()


@pytest.mark.parametrize("dtype", [*FLOATS, *INTS, "bool"])
def test_another_seed_gives_other_data(dtype: str) -> None:
    assert sample((100,), dtype, 1).tobytes() != sample((100,), dtype, 2).tobytes()


@pytest.mark.parametrize("dtype", FLOATS)
def test_floats_have_full_mantissas_and_both_signs(dtype: str) -> None:
    data = sample((20, 50), dtype, 3).astype(np.float64)
    zeros = data[data == 0]
    assert 400 < np.count_nonzero(data < 0) < 600
    assert np.signbit(zeros).any()
    assert not np.signbit(zeros).all()
    assert data.max() == 8
    assert data.min() == -8
    assert {1.0, -1.0} <= set(data.ravel().tolist())
    assert np.count_nonzero(np.abs(data) < 1 / 16) > 100
    assert np.count_nonzero(np.abs(data) > 2) > 100


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_floats_include_the_neighbors_of_one_and_a_tiny_value(dtype: str) -> None:
    data = sample((1000,), dtype, 3).astype(np.float64)
    eps = float(ml_dtypes.finfo(dtype).eps)
    assert {1 + eps, 1 - eps / 2, 2.0**-12} <= set(data.tolist())


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_exp_and_long_sums_stay_finite(dtype: str) -> None:
    a, b = sample((8, 4096), dtype, 5), sample((4096, 8), dtype, 6)
    assert np.isfinite(np.exp(a).astype(np.float64)).all()
    limit = float(ml_dtypes.finfo(dtype).max)
    partial = np.cumsum(a.astype(np.float64)[0] * b.astype(np.float64)[:, 0])
    assert np.abs(partial).max() < limit


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_integers_are_small_and_include_both_limits(dtype: str) -> None:
    data = sample((50, 50), dtype, 7)
    limit = {"int8": 4, "int16": 16}.get(dtype, 127)
    assert data.min() == -limit
    assert data.max() == limit
    assert (data == 0).any()


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32"])
def test_the_documented_number_of_products_fits(dtype: str) -> None:
    terms = {"int8": 7, "int16": 127, "int32": 130_000}[dtype]
    limit = int(sample((100,), dtype, 0).max())
    assert terms * limit**2 <= np.iinfo(dtype).max


@pytest.mark.parametrize("dtype", INTS)
def test_the_full_range_includes_the_least_and_the_greatest(dtype: str) -> None:
    data = sample((200,), dtype, 8, full_range=True)
    info = ml_dtypes.iinfo(dtype)
    values = {int(value) for value in data}
    assert {int(info.min), int(info.max), 0} <= values


def test_unsigned_starts_at_zero() -> None:
    assert set(sample((500,), "uint8", 1).tolist()) == {0, 1, 2, 3, 4}


@pytest.mark.parametrize("size", [2, 3, 10, 1000])
def test_booleans_are_mixed(size: int) -> None:
    ones = [int(sample((size,), "bool", seed).sum()) for seed in range(50)]
    assert 0 < sum(ones) < 50 * size


def test_a_scalar() -> None:
    assert sample((), "float32", 0).shape == ()


@pytest.mark.parametrize(
    ("shape", "dtype", "seed", "text"),
    [
        ((2, -1), "float32", 0, "negative extent"),
        ((2.5,), "float32", 0, "not a sequence of integers"),
        (7, "float32", 0, "not a sequence of integers"),
        ((2,), "float33", 0, "unknown element type 'float33'"),
        ((2,), "complex64", 0, "complex64"),
        ((2,), "U4", 0, "neither boolean, integer nor real"),
        ((2,), "float32", -1, "seed is -1"),
    ],
)
def test_invalid_arguments_are_refused(
    shape: tuple[int, ...], dtype: str, seed: int, text: str
) -> None:
    with pytest.raises(UserError, match=text):
        sample(shape, dtype, seed)

# SPDX-License-Identifier: Apache-2.0
"""Parts of shared tensors, and shared tensors in other shapes."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.unit.tile_windows import Blurred, BulkReshaped, DotOfReshaped, Reshaped
from xtc.core.errors import UserError
from xtc.tile import bfloat16, float32, int8

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("block", [(8, 32), (5, 16)])
def test_windows_of_a_shared_tile_overlap(block: tuple[int, int]) -> None:
    x = RNG.integers(-9, 9, (19, 45)).astype(np.float32)
    around = np.pad(x, 1)
    expected = x + around[:-2, 1:-1] + around[2:, 1:-1] + around[1:-1, :-2] + around[1:-1, 2:]
    program = Blurred(*block)
    for run in (program.check, program):
        y = np.zeros_like(x)
        run(19, 45, x, y)
        np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize(
    ("dtype", "written", "read"),
    [
        (float32, [2, 64], [128]),
        (bfloat16, [64, 32], [16, 128]),
        (int8, [4, 512], [2, 32, 32]),
        (float32, [3, 40], [8, 15]),
    ],
)
def test_rows_of_reshaped_shared_tensors_have_another_length(
    dtype: Any, written: list[int], read: list[int]
) -> None:
    kind = {bfloat16: ml_dtypes.bfloat16, int8: np.int8}.get(dtype, np.float32)
    x = RNG.integers(-99, 99, written).astype(kind)
    program = Reshaped(dtype, written, read)
    for run in (program.check, program):
        y = np.zeros(read, kind)
        run(x, y)
        np.testing.assert_array_equal(y, x.reshape(read))


def test_fragments_are_read_from_reshaped_rows() -> None:
    x, z = (RNG.integers(-4, 5, shape).astype(np.float16) for shape in ((128, 32), (64, 64)))
    y = np.zeros((64, 64), np.float32)
    DotOfReshaped()(x, z, y)
    np.testing.assert_array_equal(y, x.reshape(64, 64).astype(np.float32) @ z.astype(np.float32))


def test_rows_of_bulk_copies_keep_their_length() -> None:
    with pytest.raises(UserError, match="reshape_shared changes the rows") as caught:
        _ = BulkReshaped().compile(None, None).ptx
    assert "tile_windows.py:" in str(caught.value)
    assert "rows of 128 elements" in str(caught.value)

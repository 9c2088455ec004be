# SPDX-License-Identifier: Apache-2.0
"""Addresses in tensors of more than 2**31 elements, whose sizes are run-time numbers."""

from __future__ import annotations

import numpy as np
import pytest

from xtc import tile
from xtc.core.errors import DeviceFault
from xtc.tile import float32, int32


class Planes(tile.Script):
    """Copies the first elements of a plane of a tensor of three dimensions."""

    def __call__(
        self, planes: int32, m: int32, n: int32, plane: int32, x_ptr: ~float32, y_ptr: ~float32
    ):
        self.attrs.blocks = 1
        self.attrs.warps = 1
        x = self.global_view(x_ptr, dtype=float32, shape=[planes, m, n])
        y = self.global_view(y_ptr, dtype=float32, shape=[32])
        row = self.load_global(x, offsets=[plane, 0, 0], shape=[32], dims=[2])
        self.store_global(y, row, offsets=[0])


def test_planes_of_a_small_tensor_are_copied() -> None:
    x, y = np.arange(3 * 5 * 40, dtype=np.float32).reshape(3, 5, 40), np.zeros(32, np.float32)
    Planes()(3, 5, 40, 2, x, y)
    np.testing.assert_array_equal(y, x[2, 0, :32])


@pytest.mark.parametrize(("m", "n"), [(1 << 16, 1 << 16), (1 << 15, 1 << 17), (3 << 20, 1 << 12)])
def test_an_element_behind_the_range_of_32_bits_is_not_taken_for_another(m: int, n: int) -> None:
    """The distance of two planes is a multiple of 2**32, 0 in 32 bits: the first plane."""
    x, y = np.ones(64, np.float32), np.zeros(32, np.float32)
    with pytest.raises(DeviceFault, match="outside"):
        Planes()(2, m, n, 1, x, y)
    assert not y.any()

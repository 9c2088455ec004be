# SPDX-License-Identifier: Apache-2.0
"""Launches whose arguments overlap in memory: a store to one of them changes the others."""

from __future__ import annotations

import re

import numpy as np
import pytest

from xtc import tile
from xtc.core.errors import UserError
from xtc.tile import float32
from xtc.tile.config import device_for

pytestmark = pytest.mark.slow


class ReadAgain(tile.Script):
    """y = 2 x, and z = x after that."""

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32, z_ptr: ~float32):
        self.attrs.blocks = 1
        self.attrs.warps = 4
        x, y, z = (
            self.global_view(x_ptr, dtype=float32, shape=[128]),
            self.global_view(y_ptr, dtype=float32, shape=[128]),
            self.global_view(z_ptr, dtype=float32, shape=[128]),
        )
        self.store_global(y, self.load_global(x, offsets=[0], shape=[128]) * 2.0, offsets=[0])
        self.sync()
        self.store_global(z, self.load_global(x, offsets=[0], shape=[128]), offsets=[0])


def accesses(ptx: str) -> list[str]:
    return re.findall(r"(?:ld|st)\.global[.a-z]*(?=\.)", ptx)


def test_memory_that_another_argument_changes_is_read_again() -> None:
    """`ld.global.nc` is for memory that a kernel only reads ("PTX ISA", ld.global.nc)."""
    kernel = ReadAgain().compile(None, None, None)
    assert accesses(kernel.ptx) == ["ld.global.nc", "st.global", "st.global"]
    again = ["ld.global", "st.global", "ld.global", "st.global"]
    assert accesses(kernel.overlapping.ptx) == again


def test_a_launch_on_overlapping_arrays_runs_the_kernel_for_them() -> None:
    program, device = ReadAgain(), device_for(())
    kernel = program.compile(None, None, None)
    x, y, z = (device.array(np.full(128, number, np.float32)) for number in (1, 0, 0))
    program(x, y, z)
    assert (z.numpy() == 1).all()
    assert "overlapping" not in vars(kernel)
    program(x, x, z)
    assert (x.numpy() == 2).all()
    assert (z.numpy() == 2).all()
    assert "overlapping" in vars(kernel)


def test_an_array_that_is_two_arguments_is_copied_once() -> None:
    x, z = np.ones(128, np.float32), np.zeros(128, np.float32)
    ReadAgain()(x, x, z)
    assert (x == 2).all()
    assert (z == 2).all()
    interpreted, copied = np.ones(128, np.float32), np.zeros(128, np.float32)
    ReadAgain().check(interpreted, interpreted, copied)
    assert (copied == z).all()


def test_arrays_that_overlap_in_part_are_refused_if_one_is_written() -> None:
    x, z = np.ones(130, np.float32), np.zeros(128, np.float32)
    with pytest.raises(UserError, match="two arrays of ReadAgain overlap, and it writes one"):
        ReadAgain()(x[:128], x[2:], z)

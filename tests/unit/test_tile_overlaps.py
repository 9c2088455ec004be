# SPDX-License-Identifier: Apache-2.0
"""Memory that is read again after a change: by other threads, or through another argument."""

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


class Shifted(tile.Script):
    """x[i] = 2 x[i + 1], and z[i] = x[i + 1] after that, which another thread has changed."""

    def __call__(self, x_ptr: ~float32, z_ptr: ~float32):
        self.attrs.blocks = 1
        self.attrs.warps = 4
        x = self.global_view(x_ptr, dtype=float32, shape=[129])
        z = self.global_view(z_ptr, dtype=float32, shape=[128])
        a = self.load_global(x, offsets=[1], shape=[128])
        self.sync()
        self.store_global(x, a * 2.0, offsets=[0])
        self.sync()
        self.store_global(z, self.load_global(x, offsets=[1], shape=[128]), offsets=[0])


def accesses(ptx: str) -> list[str]:
    return re.findall(r"(?:ld|st)\.global[.a-z]*(?=\.)", ptx)


def test_memory_that_other_threads_change_is_read_again() -> None:
    """A thread's own store does not change the element that it has read: the barrier does."""
    kernel = Shifted().compile(None, None)
    assert accesses(kernel.ptx) == ["ld.global", "st.global", "ld.global", "st.global"]
    x, z = np.arange(129, dtype=np.float32), np.zeros(128, np.float32)
    Shifted()(x, z)
    assert (z[:-1] == 2 * np.arange(2, 129)).all()


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

# SPDX-License-Identifier: Apache-2.0
"""Blocks that wait for all others: only as many as a GPU holds at the same time can do so."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.unit.nvgpu_code import needs_ptxas
from xtc import tile
from xtc.core.errors import DeviceFault
from xtc.tile import float32, int32
from xtc.tile.config import device_kept
from xtc.tile.interpreter.report import DeadlockError
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions, toolkit
from xtc_targets.nvgpu.occupancy import resident_blocks

pytestmark = pytest.mark.slow


class Meeting(tile.Script):
    """Each block counts itself, and waits until all blocks have."""

    def __init__(self, kib=100, warps=4):
        super().__init__()
        self.kib, self.warps = kib, warps

    def __call__(self, blocks: int32, x_ptr: ~float32):
        self.attrs.blocks = blocks
        self.attrs.warps = self.warps
        x = self.global_view(x_ptr, dtype=float32, shape=[blocks])
        counted = self.global_tensor(dtype=int32, shape=[1], requires_clean=False)
        held = self.shared_tensor(dtype=float32, shape=[self.kib, 256])
        self.store_shared(held, self.register_tensor(dtype=float32, shape=[self.kib, 256], init=1))
        self.sync()
        block = self.register_tensor(dtype=int32, shape=[1], init=1)
        self.atomic.global_add(counted, block, sem="acq_rel")
        self.lock_semaphore(counted[0].item_ptr(), blocks)
        part = self.load_shared(held)
        self.store_global(x, self.sum(self.sum(part, dim=0), dim=0), offsets=[self.blockIdx.x])


class InOrder(tile.Script):
    """Each block waits for the one before it."""

    def __call__(self, blocks: int32, x_ptr: ~int32):
        self.attrs.blocks, self.attrs.warps = blocks, 32
        x = self.global_view(x_ptr, dtype=int32, shape=[blocks])
        done = self.global_tensor(dtype=int32, shape=[1], requires_clean=False)
        number = self.blockIdx.x
        self.lock_semaphore(done[0].item_ptr(), number)
        value = self.register_tensor(dtype=int32, shape=[1], init=number + 1)
        self.store_global(x, value, offsets=[number])
        self.sync()
        self.release_semaphore(done[0].item_ptr(), number + 1)


class FullRegisters(tile.Script):
    """The same, with 128 elements in the registers of each thread."""

    def __call__(self, blocks: int32, x_ptr: ~float32):
        self.attrs.blocks = blocks
        self.attrs.warps = 4
        x = self.global_view(x_ptr, dtype=float32, shape=[blocks, 128, 128])
        held = self.load_global(x, offsets=[self.blockIdx.x, 0, 0], shape=[128, 128], dims=[1, 2])
        counted = self.global_tensor(dtype=int32, shape=[1], requires_clean=False)
        block = self.register_tensor(dtype=int32, shape=[1], init=1)
        self.atomic.global_add(counted, block, sem="acq_rel")
        self.lock_semaphore(counted[0].item_ptr(), blocks)
        self.store_global(x, held + 1, offsets=[self.blockIdx.x, 0, 0], dims=[1, 2])


@pytest.mark.parametrize(("kib", "warps"), [(100, 4), (1, 32), (30, 8)])
def test_as_many_blocks_meet_as_a_gpu_holds(kib: int, warps: int) -> None:
    with NvgpuDevice(NvgpuOptions(sms=3)) as device, device_kept():
        tile.use_device(device)
        most = 3 * resident_blocks(device.machine, 1, 32 * warps, kib << 10)
        x = np.zeros(most, np.float32)
        Meeting(kib, warps)(most, x)
        assert (x == kib * 256).all()
        waits = "deadlock: all blocks that have begun wait for writes of other blocks"
        with pytest.raises(DeviceFault, match=re.escape(waits)):
            Meeting(kib, warps)(most + 1, np.zeros(most + 1, np.float32))


@needs_ptxas
def test_registers_limit_the_blocks_that_meet() -> None:
    with NvgpuDevice(NvgpuOptions(sms=2, memory_bytes=1 << 26)) as device, device_kept():
        tile.use_device(device)
        kernel = FullRegisters()
        found = kernel.compile(1, None).resources
        each = found.blocks
        assert each < resident_blocks(device.machine, 0, 128, 0)
        for run in (kernel, kernel.check):
            x = np.zeros((2 * each, 128, 128), np.float32)
            run(2 * each, x)
            assert (x == 1).all()
        x = np.zeros((2 * each + 3, 128, 128), np.float32)
        held = f"3 have not begun: the GPU holds {2 * each} blocks of 128 threads at a time"
        with pytest.raises(DeviceFault, match=held):
            kernel(2 * each + 3, x)
        with pytest.raises(DeadlockError) as caught:
            kernel.check(2 * each + 3, x)
        assert caught.value.notes[-1] == (
            f"3 blocks have not begun: the machine holds {2 * each} at the same time (2 "
            f"multiprocessors hold {each} each, by 128 threads, 0 bytes of shared memory, and "
            f"{found.registers} registers of each thread)"
        )
        assert f"launch at most {2 * each} blocks" in caught.value.hints[0]


def test_without_an_assembler_registers_are_said_to_be_uncounted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(toolkit, "find", lambda _program: None)
    with NvgpuDevice(NvgpuOptions(sms=2)) as device, device_kept():
        tile.use_device(device)
        most = 2 * resident_blocks(device.machine, 0, 128, 100 << 10)
        with pytest.raises(DeadlockError) as caught:
            Meeting().check(most + 1, np.zeros(most + 1, np.float32))
        assert caught.value.notes[-1].endswith("and registers, which no assembler counts here)")


def test_blocks_that_wait_for_lower_ones_may_be_more_than_fit() -> None:
    with NvgpuDevice(NvgpuOptions(sms=1)) as device, device_kept():
        tile.use_device(device)
        for run in (InOrder(), InOrder().check):
            x = np.zeros(40, np.int32)
            run(40, x)
            np.testing.assert_array_equal(x, np.arange(1, 41))

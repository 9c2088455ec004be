# SPDX-License-Identifier: Apache-2.0
"""Blocks that wait for all others: only as many as a GPU holds at the same time can do so."""

from __future__ import annotations

import re

import numpy as np
import pytest

from xtc import tile
from xtc.core.errors import DeviceFault
from xtc.tile import float32, int32
from xtc.tile.config import device_kept
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions
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

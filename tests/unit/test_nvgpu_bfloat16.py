# SPDX-License-Identifier: Apache-2.0
"""Conversions to bfloat16 in PTX."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.nvgpu_code import ARCHITECTURES, needs_ptxas
from xtc import tile
from xtc.tile import bfloat16, float32
from xtc.tile.config import device_kept
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions

pytestmark = pytest.mark.slow


class Rounded(tile.Script):
    """A thread rounds eight numbers."""

    def __call__(self, x_ptr: ~float32, y_ptr: ~bfloat16) -> None:  # type: ignore[valid-type]
        self.attrs.blocks = (1,)
        self.attrs.warps = 1
        x = self.global_view(x_ptr, dtype=float32, shape=[256])
        y = self.global_view(y_ptr, dtype=bfloat16, shape=[256])
        a = self.load_global(x, offsets=[0], shape=[256])
        self.store_global(y, self.cast(a, bfloat16), offsets=[0])


@needs_ptxas
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_an_instruction_rounds_two_numbers(arch: str) -> None:
    with NvgpuDevice(NvgpuOptions(arch=arch)) as device, device_kept():
        tile.use_device(device)
        script: Any = Rounded()
        kernel = script.compile(None, None)
        assert kernel.ptx.count("cvt.rn.bf16x2.f32") == 4
        assert kernel.sass.count("F2FP.BF16") == 4

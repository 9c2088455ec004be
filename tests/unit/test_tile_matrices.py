# SPDX-License-Identifier: Apache-2.0
"""Warps store 16-bit results to shared memory by stmatrix, if the machine has it."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.unit.tile_matrices import Staged
from xtc.tile import bfloat16, float16
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("across", [False, True])
@pytest.mark.parametrize(
    ("dtype", "numpy", "sizes"),
    [
        (float16, np.float16, (64, 64, 32)),
        (bfloat16, ml_dtypes.bfloat16, (64, 32, 16)),
        (float16, np.float16, (32, 128, 16)),
    ],
)
def test_a_result_is_stored_through_shared_memory(
    dtype: Any, numpy: Any, sizes: tuple[int, int, int], across: bool, arch: str
) -> None:
    m, n, k = sizes
    generator = np.random.default_rng(0)
    a, b = (generator.integers(-3, 4, shape).astype(numpy) for shape in ((m, k), (k, n)))
    expected = (a.astype(np.float32) @ b.astype(np.float32)).astype(numpy)
    program = Staged(sizes, dtype, across)
    checked = np.zeros((m, n), numpy)
    program.check(a, b, checked)
    np.testing.assert_array_equal(checked, expected)
    with NvgpuDevice(NvgpuOptions(arch=arch)) as device:
        given = [device.array(each) for each in (a, b, np.zeros((m, n), numpy))]
        before = device.counters()
        program(*given)
        after = device.counters()
        np.testing.assert_array_equal(given[2].numpy(), expected)
        for array in given:
            array.free()
    stored = after["nvgpu.STORED_MATRICES"] - before["nvgpu.STORED_MATRICES"]
    assert stored == (m * n // 64 if arch == "sm_90a" else 0)

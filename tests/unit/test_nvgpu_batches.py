# SPDX-License-Identifier: Apache-2.0
"""Batches of matrix instructions between barriers, which the simulator runs without switching
threads."""

from __future__ import annotations

import pytest

from tests.unit.nvgpu_support import image, opened
from xtc.core.errors import DeviceFault

pytestmark = pytest.mark.slow

RIGHT, SEPARATE_CALLS, WITHOUT_SECOND_BARRIER, MISALIGNED, ENDED, OTHER_SITE, NO_BARRIER = range(7)
SCHEDULES = ("sequential", "shuffled")


@pytest.mark.parametrize("races", [False, True])
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("kind", [RIGHT, SEPARATE_CALLS, WITHOUT_SECOND_BARRIER])
def test_warps_exchange_rows_in_any_order(kind: int, schedule: str, races: bool) -> None:
    with opened(image("nvgpu_batches"), sim_schedule=schedule, sim_races=races) as kernels:
        out = kernels.device.zeros((3, 64), "int32")
        kernels.device.launch(kernels.exchange, [out, kind])
        assert out.numpy().tolist() == 3 * [[3 * (i ^ 32) for i in range(64)]]
        counters = kernels.device.counters()
    barriers = 1 if kind == WITHOUT_SECOND_BARRIER else 2
    assert counters["nvgpu.BARRIERS"] == 3 * barriers
    assert counters["nvgpu.LOADED_MATRICES"] == 3 * 2


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (MISALIGNED, r"thread \(35, 0, 0\): misaligned cuda_load_matrix of 16 bytes"),
        (ENDED, r"lane 3 of the warp has ended|of which 63 have arrived"),
        (OTHER_SITE, "divergence at barrier 0: lane .* at another location in the code"),
        (NO_BARRIER, "deadlock: barrier 0 waits for 64 threads, of which 32 have arrived"),
    ],
)
def test_a_mistake_is_a_fault_in_any_order(kind: int, message: str, schedule: str) -> None:
    with (
        opened(image("nvgpu_batches"), sim_schedule=schedule) as kernels,
        pytest.raises(DeviceFault, match=message),
    ):
        kernels.device.launch(kernels.exchange, [kernels.device.zeros((3, 64), "int32"), kind])

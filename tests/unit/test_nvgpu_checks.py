# SPDX-License-Identifier: Apache-2.0
"""Failures on the simulated GPU are reported and leak nothing; no order changes a result.

Each kind of fault with its location and address, and kernels without their barriers, are in
`test_nvgpu_faults.py`.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.unit.device_checks import (
    MEBIBYTE,
    check_a_dead_device_is_reopened,
    check_only_correct_candidates_are_ranked,
    check_order_changes_no_result,
    check_out_of_memory_leaks_nothing,
    children,
    kill_the_simulator,
)
from tests.unit.nvgpu_support import Kernels, opened
from xtc.core.errors import DeviceFault, DeviceTimeout
from xtc.runtime import DriverDevice
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("collected")]
RNG = np.random.default_rng(7)
A = RNG.standard_normal((32, 64)).astype(np.float16)
B = RNG.standard_normal((64, 16)).astype(np.float16)
ENDLESS, OUTSIDE = 41, 0  # kinds of faults in the kernel `faults`
APART = 0  # of `apart`: half of a block does not reach a barrier


def test_out_of_memory_leaks_nothing(is_long: bool) -> None:
    with NvgpuDevice(NvgpuOptions(memory_bytes=2 * MEBIBYTE)) as device:
        check_out_of_memory_leaks_nothing(device, 1000 if is_long else 20)


def fault_in_memory(device: DriverDevice) -> None:
    with pytest.raises(DeviceFault, match="outside an allocation"):
        device.launch(Kernels(device).faults, [device.memory_allocate(64), OUTSIDE])


def fault_at_a_barrier(device: DriverDevice) -> None:
    with pytest.raises(DeviceFault, match="deadlock"):
        device.launch(Kernels(device).apart, [0, APART])


FAULTS = (fault_in_memory, fault_at_a_barrier, kill_the_simulator)


def test_a_dead_device_is_reopened(is_long: bool) -> None:
    before = children()
    with NvgpuDevice() as device:
        check_a_dead_device_is_reopened(device, FAULTS, 100 if is_long else 6)
    assert children() <= before


def test_an_endless_kernel_leaves_no_process(is_long: bool) -> None:
    before = children()
    with NvgpuDevice(NvgpuOptions(timeout_s=0.1)) as device:
        for _ in range(20 if is_long else 2):
            with pytest.raises(DeviceTimeout, match=r"it ran for more than 0\.1 s"):
                device.launch(Kernels(device).faults, [device.memory_allocate(64), ENDLESS])
            device.init_device()
            assert device.array(np.arange(3)).numpy().tolist() == [0, 1, 2]
    assert children() <= before


@pytest.mark.parametrize("schedule", ["sequential", "shuffled"])
def test_every_access_outside_an_allocation_is_located(is_long: bool, schedule: str) -> None:
    rng = random.Random(schedule)  # noqa: S311  data of a test
    with opened(sim_schedule=schedule, seed=3) as kernels:
        device = kernels.device
        for _ in range(500 if is_long else 15):
            device.memory_allocate(rng.randint(1, 500))
            size = 16 * rng.randint(1, 100)
            address = device.memory_allocate(size)
            device.memory_allocate(rng.randint(1, 500))
            block, thread, nbytes = (
                rng.randrange(6),
                rng.randrange(80),
                rng.choice((1, 2, 4, 8, 16)),
            )
            place = rng.choice((address - nbytes, address + size))
            kind = rng.choice(("read", "write"))
            where = (
                rf"^nvgpu0: kernel 'stray' in block \({block % 3}, {block // 3}, 0\), "
                rf"thread \({thread % 10}, {thread // 10 % 4}, {thread // 40}\): "
                rf"{kind} of {nbytes} bytes outside an allocation in global memory at {place:#x}$"
            )
            with pytest.raises(DeviceFault, match=where):
                device.launch(kernels.stray, [block, thread, place, nbytes, kind == "write"])
            device.init_device()
            kernels = Kernels(device)


def test_order_changes_no_result(is_long: bool) -> None:
    shuffled = (
        NvgpuOptions(arch=arch, sim_schedule="shuffled", seed=seed)
        for seed in range(100 if is_long else 2)
        for arch in ("sm_80", "sm_90a")
    )
    check_order_changes_no_result(NvgpuDevice(config) for config in (NvgpuOptions(), *shuffled))


def test_wrong_and_failing_candidates_are_never_ranked(is_long: bool) -> None:
    with NvgpuDevice(NvgpuOptions(timeout_s=0.1)) as device:

        def matmul(left: np.ndarray) -> np.ndarray:
            arrays = [device.array(left), device.array(B), device.empty((32, 16), "float32")]
            device.launch(Kernels(device).matmul_f16, arrays)
            return arrays[2].numpy()

        def ends_badly(name: str, kind: int) -> np.ndarray:
            array = device.zeros(16, "float32")
            device.launch(getattr(Kernels(device), name), [array, kind])
            return array.numpy()

        check_only_correct_candidates_are_ranked(
            device,
            {
                "right": lambda: matmul(A),
                "right, twice": lambda: [matmul(A) for _ in range(2)][1],
                "wrong": lambda: matmul(A + 1),
                "crashes": lambda: ends_badly("faults", OUTSIDE),
                "never meets": lambda: ends_badly("apart", APART),
                "never ends": lambda: ends_badly("faults", ENDLESS),
            },
            A.astype(np.float32) @ B.astype(np.float32),
            {"crashes": DeviceFault, "never meets": DeviceFault, "never ends": DeviceTimeout},
            lambda: device.counters()["nvgpu.MMA_F16_MACS"],
            500 if is_long else 40,
        )

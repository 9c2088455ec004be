# SPDX-License-Identifier: Apache-2.0
"""Faults on the simulated MPPA are detected, located, and leak nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.unit.mppa_support import Kernels, image, opened
from xtc.core.errors import (
    DeviceFault,
    DeviceLost,
    DeviceTimeout,
)
from xtc_targets.mppa.description import COOLIDGE_V2
from xtc_targets.mppa.device import MppaDevice

ROOT = Path(__file__).parents[2]
SMEM = COOLIDGE_V2.smem_address + 2 * COOLIDGE_V2.smem_stride  # of cluster 2
SMEM_END = SMEM + COOLIDGE_V2.smem_bytes
GET, PUT = 0, 1

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("collected")]


@pytest.fixture
def kernels() -> Iterator[Kernels]:
    with opened() as device:
        yield device


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        (0, r"PE 5: access to unmapped memory \(SIGSEGV\) at 0x10"),
        (1, r"PE 5: arithmetic exception .* \(SIGFPE\) at 0x"),
        (2, r"PE 5: illegal instruction \(SIGILL\) at 0x"),
        (3, r"PE 5: call of abort \(SIGABRT\)"),
        (4, r"PE 5: it ended the process"),
        (5, r"PE 5: dev_pe_launch called on a PE: only control code may"),
        (6, r"PE 5: dev_dma_wait called on a PE: only control code may"),
        (7, rf"PE 5: access to unmapped memory .* at {SMEM - COOLIDGE_V2.smem_stride:#x}"),
        (8, rf"PE 5: access to unmapped memory .* at {SMEM_END:#x}"),
        (20, r"PE 0 \(control code\): access to unmapped memory .* at 0x"),
        (21, r"PE 0 \(control code\): dev_pe_launch of 17 PEs, of which there are 16"),
        (22, r"PE 0 \(control code\): dev_pe_launch without a function"),
        (23, r"PE 0 \(control code\): dev_count_macs of the unknown type 4"),
        (24, r"PE 0 \(control code\): dev_dma_wait for 12345, which is not a transfer in flight"),
        (25, r"PE 0 \(control code\): .* ended with 1 DMA transfers that it did not wait for"),
        (26, r"PE 0 \(control code\): more than 127 DMA transfers in flight"),
        (27, r"PE 0 \(control code\): DMA in the unknown direction 2"),
    ],
)
def test_a_fault_names_kernel_location_and_address(kernels: Kernels, kind: int, what: str) -> None:
    array = kernels.device.zeros(8, "int64")
    with pytest.raises(DeviceFault, match=rf"^mppa0: kernel 'faults' on cluster 2, {what}"):
        kernels.device.launch(kernels.faults, [array, kind])
    with pytest.raises(DeviceLost, match=r"^mppa0: the device has stopped: kernel 'faults' on"):
        kernels.device.memory_allocate(1)
    kernels.device.init_device()
    assert kernels.device.array(np.arange(3)).numpy().tolist() == [0, 1, 2]


Transfer = Callable[[int], tuple[int, int, int, int, int, int, int]]
"""From where 256 bytes are: offset in SMEM, stride, DDR address, stride, row, rows, direction."""


@pytest.mark.parametrize(
    ("transfer", "what"),
    [
        (lambda a: (0, 4, a, 4, 0, 1, GET), "DMA of 1 rows of 0 bytes: nothing to copy"),
        (lambda a: (0, 4, a, 4, 4, 0, PUT), "DMA of 0 rows of 4 bytes: nothing to copy"),
        (lambda a: (0, 4, a, 2, 4, 2, GET), "DMA strides 4 and 2 are less than the row's 4 bytes"),
        (lambda a: (0, 3, a, 4, 4, 2, GET), "DMA strides 3 and 4 are less than the row's 4 bytes"),
        (lambda a: (0, 4, a, 4, 1 << 40, 1, GET), "does not fit in SMEM"),
        (lambda a: (4 << 20, 4, a, 4, 4, 1, GET), f"outside this cluster's SMEM at {SMEM_END:#x}"),
        (lambda a: (-1, 4, a, 4, 4, 1, GET), f"outside this cluster's SMEM at {SMEM - 1:#x}"),
        (lambda a: (1 << 24, 4, a, 4, 4, 1, GET), "outside this cluster's SMEM"),
        (lambda a: (0, 2 << 20, a, 4, 4, 3, GET), f"passes the end of SMEM at {SMEM_END:#x}"),
        (lambda a: (0, 1 << 62, a, 4, 4, 5, GET), f"passes the end of SMEM at {SMEM_END:#x}"),
        (lambda a: ((4 << 20) - 3, 4, a, 4, 4, 1, PUT), f"passes the end of SMEM at {SMEM_END:#x}"),
        (lambda a: (0, 4, a, 64, 4, 5, GET), "an allocation in DDR, in row 4 of 5"),
        (lambda a: (0, 4, a + 253, 4, 4, 1, PUT), "an allocation in DDR, in row 0 of 1"),
        (lambda a: (0, 4, a - 1, 4, 4, 1, GET), "an allocation in DDR, in row 0 of 1"),
        (lambda a: (0, 4, 0, 4, 4, 1, GET), "an allocation in DDR"),
        (lambda a: (0, 4, SMEM, 4, 4, 1, GET), f"an allocation in DDR, in row 0 of 1 at {SMEM:#x}"),
        (lambda a: (0, 4, 2**64 - 2, 4, 4, 1, GET), "an allocation in DDR"),
    ],
)
def test_a_violated_dma_rule_is_a_fault(kernels: Kernels, transfer: Transfer, what: str) -> None:
    address = kernels.device.memory_allocate(256)
    with pytest.raises(DeviceFault, match=rf"'transfer' on cluster 2, .*{what}"):
        kernels.device.launch(kernels.transfer, [0, *transfer(address)])


def test_a_dma_outside_an_allocation_names_the_first_byte_outside(kernels: Kernels) -> None:
    address = kernels.device.memory_allocate(1000)
    kernels.device.memory_allocate(1000)
    whole = (0, 0, address, 0, 1000, 1, GET)
    kernels.device.launch(kernels.transfer, [0, *whole])
    with pytest.raises(DeviceFault, match=f"in row 0 of 1 at {address + 1000:#x}"):
        kernels.device.launch(kernels.transfer, [0, 0, 0, address, 0, 1001, 1, GET])


def test_dma_to_freed_memory_is_a_fault(kernels: Kernels) -> None:
    address = kernels.device.memory_allocate(256)
    kernels.device.memory_free(address)
    with pytest.raises(DeviceFault, match=f"allocation in DDR, in row 0 of 1 at {address:#x}"):
        kernels.device.launch(kernels.transfer, [0, 0, 4, address, 4, 4, 1, PUT])


@pytest.mark.parametrize(
    ("transfer", "what"),
    [
        (
            lambda a: (4, 16, a, 16, 16, 1, GET),
            "DMA SMEM address 0x3000004 is not a multiple of 16",
        ),
        (lambda a: (0, 16, a + 8, 16, 16, 1, GET), "DMA DDR address 0x100000008 is not"),
        (lambda a: (0, 16, a, 24, 16, 2, GET), "DMA DDR stride 0x18 is not a multiple of 16"),
        (lambda a: (0, 24, a, 16, 16, 2, GET), "DMA SMEM stride 0x18 is not a multiple of 16"),
        (lambda a: (0, 16, a, 16, 8, 2, GET), "DMA row size 0x8 is not a multiple of 16"),
    ],
)
def test_alignment_follows_the_description(transfer: Transfer, what: str) -> None:
    machine = dataclasses.replace(COOLIDGE_V2, dma_alignment=16)
    with MppaDevice(machine=machine) as device:
        kernels = Kernels(device)
        address = device.memory_allocate(256)
        device.launch(kernels.transfer, [0, 16, 32, address + 16, 48, 16, 3, GET])
        with pytest.raises(DeviceFault, match=what):
            device.launch(kernels.transfer, [0, *transfer(address)])


def test_the_transfer_limit_follows_the_description() -> None:
    machine = dataclasses.replace(COOLIDGE_V2, dma_in_flight=3)
    with MppaDevice(machine=machine) as device:
        kernels, address = Kernels(device), device.memory_allocate(8)
        with pytest.raises(DeviceFault, match="more than 3 DMA transfers"):
            device.launch(kernels.faults, [address, 26])


def test_deferred_dma_exposes_a_missing_wait() -> None:
    results = {}
    for mode in ("synchronous", "deferred"):
        with opened(dma_mode=mode) as kernels:
            device = kernels.device
            out, source = device.zeros(1, "float32"), device.array(np.float32(7))
            device.launch(kernels.reads_too_early, [out, source])
            early = out.numpy()[0]
            device.launch(kernels.writes_too_early, [out])
            results[mode] = (float(early), float(out.numpy()[0]))
    assert results["synchronous"] == (7, 1)
    assert np.isnan(results["deferred"][0])
    assert results["deferred"][1] == 2


def test_deferred_dma_does_not_change_correct_code() -> None:
    with opened(dma_mode="deferred", sim_schedule="shuffled", seed=3) as kernels:
        rng = np.random.default_rng(0)
        a, b = rng.random((80, 64), np.float32), rng.random((64, 64), np.float32)
        arrays = [kernels.device.array(array) for array in (a, b, np.zeros_like(a))]
        kernels.device.launch(kernels.matmul, arrays)
        np.testing.assert_allclose(arrays[2].numpy(), a @ b, rtol=1e-5)


def run_on(kernels: Kernels, name: str, size: int) -> list[int]:
    array = kernels.device.zeros(size, "int32")
    kernels.device.launch(getattr(kernels, name), [array])
    return [int(value) for value in array.numpy()]


def test_shuffled_order_exposes_a_race_between_pes() -> None:
    with opened() as kernels:
        assert run_on(kernels, "races", 16) == list(range(1, 17))
    with opened(sim_schedule="shuffled", seed=1) as kernels:
        assert run_on(kernels, "races", 16) != list(range(1, 17))


def test_shuffled_orders_are_permutations_that_depend_only_on_the_seed() -> None:
    seen = []
    for seed in (0, 1, 1):
        with opened(sim_schedule="shuffled", seed=seed) as kernels:
            orders = [run_on(kernels, "pe_order", 17)[1:] for _ in range(3)]
            clusters = [run_on(kernels, "cluster_order", 6)[1:] for _ in range(3)]
        assert all(sorted(order) == list(range(16)) for order in orders)
        assert all(sorted(order) == list(range(5)) for order in clusters)
        assert len({tuple(order) for order in orders}) > 1
        seen.append((orders, clusters))
    assert seen[0] != seen[1] == seen[2]


def test_the_default_order_is_numerical(kernels: Kernels) -> None:
    assert run_on(kernels, "pe_order", 17)[1:] == list(range(16))
    assert run_on(kernels, "cluster_order", 6)[1:] == list(range(5))


def test_an_endless_kernel_is_stopped() -> None:
    with opened(timeout_s=0.2) as kernels:
        where = r"'endless' on cluster 0, PE 3: it ran for more than 0\.2 s"
        with pytest.raises(DeviceTimeout, match=where):
            kernels.device.launch(kernels.endless)
        with pytest.raises(DeviceLost):
            kernels.device.launch(kernels.endless)
        kernels.device.init_device()
        kernels.device.launch(Kernels(kernels.device).empty)


def test_the_time_limit_applies_to_each_kernel() -> None:
    with opened(timeout_s=5) as kernels:
        empty = kernels.empty
        for _ in range(1000):
            kernels.device.launch(empty)


def test_kernels_after_a_fault_report_a_lost_device(kernels: Kernels) -> None:
    address = kernels.device.memory_allocate(8)
    guilty, innocent = kernels.device.queue(), kernels.device.queue()
    faults, empty = kernels.faults, kernels.empty
    guilty.launch(faults, [address, 0])
    innocent.launch(empty, [])
    with pytest.raises(DeviceLost, match="command 0 of the queue, launch: the device has stopped"):
        innocent.wait()
    with pytest.raises(DeviceFault, match="SIGSEGV"):
        guilty.wait()


def test_a_constructor_that_calls_the_device_is_a_fault(kernels: Kernels) -> None:
    where = r"kernel '\(constructors\)': dev_smem called outside a kernel"
    with pytest.raises(DeviceFault, match=where):
        kernels.device.load_module(image("mppa_kernels_bad"))

# SPDX-License-Identifier: Apache-2.0
"""Failures of compiled graphs on the simulated MPPA are reported and leak nothing.

Faults of handwritten kernels, their locations and addresses, and endless kernels are in
`test_mppa_faults.py`; races and late transfers of random graphs in `test_random_placements.py`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import xtc
import xtc.ops as O
from tests.unit.device_checks import (
    MEBIBYTE,
    check_a_dead_device_is_reopened,
    check_order_changes_no_result,
    check_out_of_memory_leaks_nothing,
    children,
    kill_the_simulator,
)
from tests.unit.mppa_support import Kernels, opened
from tests.unit.offload_support import B, matmul_graph
from xtc.core.errors import DeviceFault, DeviceLost, LaunchError
from xtc_targets.mppa import MppaDevice, MppaOptions

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("collected")]


@pytest.fixture
def device() -> Iterator[MppaDevice]:
    with MppaDevice() as opened:
        yield opened


def test_out_of_memory_leaks_nothing(is_long: bool) -> None:
    with MppaDevice(MppaOptions(ddr_bytes=2 * MEBIBYTE)) as device:
        check_out_of_memory_leaks_nothing(device, 1000 if is_long else 20)


def test_the_call_reports_a_refused_launch(device: MppaDevice) -> None:
    with O.graph(name="many") as gb:
        y = O.tensor((4, 4), name="X")
        for number in range(70):
            y = O.add(y, O.tensor((4, 4), name=f"X{number}"), device=device)
    inputs = [np.ones((4, 4), np.float32)] * 71
    with xtc.compile(gb) as module:
        for _ in range(2):
            with pytest.raises(LaunchError, match="a kernel has at most 64 arguments, not 72"):
                module(*inputs)
        used = device.memory_info()[0]
    assert used == 0


def test_a_queue_stops_after_a_refused_command(device: MppaDevice) -> None:
    kernels, queue = Kernels(device), device.queue()
    with pytest.raises(LaunchError):
        queue.launch(kernels.empty, [0] * 65)
    with pytest.raises(LaunchError, match="at most 64 arguments"):
        queue.wait(queue.fill_zero(device.memory_allocate(1), 1))


class TestFaults:
    def test_a_dead_device_is_reopened(self, is_long: bool) -> None:
        before = children()
        with MppaDevice() as device:
            check_a_dead_device_is_reopened(device, FAULTS, 100 if is_long else 6)
        assert children() <= before

    def test_a_dead_device_does_not_affect_another(self, device: MppaDevice) -> None:
        with MppaDevice() as other, xtc.compile(matmul_graph(other, weight=True)) as module:
            fault_in_a_kernel(device)
            module.check()

    def test_a_graph_on_two_devices_reports_the_dead_one(self, device: MppaDevice) -> None:
        with MppaDevice() as other:
            x = O.tensor((4, 4), name="X")
            with O.graph(name="relay") as gb:
                O.exp(O.relu(x, device=device), name="Y", device=other)
            with xtc.compile(gb) as module:
                module.check()
                fault_in_a_kernel(device)
                with pytest.raises(DeviceLost, match=r"^mppa0: "):
                    module(np.ones((4, 4), np.float32))
            assert other.memory_info()[0] == 0

    def test_arrays_of_a_dead_device_are_lost(self, device: MppaDevice) -> None:
        array = device.array(B)
        fault_in_a_kernel(device)
        with pytest.raises(DeviceLost):
            array.numpy()
        device.init_device()
        with pytest.raises(xtc.UserError, match="was freed"):
            array.numpy()


def fault_in_a_kernel(device: MppaDevice) -> None:
    kernels = Kernels(device)
    with pytest.raises(DeviceFault):
        device.launch(kernels.faults, [device.memory_allocate(8), 0])


def fault_in_a_transfer(device: MppaDevice) -> None:
    kernels = Kernels(device)
    with pytest.raises(DeviceFault, match="DMA"):
        device.launch(kernels.transfer, [0, 0, 4, 0, 4, 4, 1, 0])


FAULTS = (fault_in_a_kernel, fault_in_a_transfer, kill_the_simulator)


def outside(rng: random.Random, address: int, nbytes: int) -> tuple[tuple[int, ...], int, int]:
    """A transfer that leaves an allocation in one row: its arguments, the row, the address."""
    rows, row_bytes = rng.randint(1, 9), rng.randint(1, 96)
    stride = row_bytes + rng.randint(0, 64)
    row = rng.randrange(rows)
    if rng.random() < 0.5 and rows == 1:  # before its start
        start = address - rng.randint(1, row_bytes)
        bad, row = start, 0
    else:  # past its end, first in that row
        inside = rng.randint(0 if row == 0 else row_bytes - stride, row_bytes - 1)
        start = address + nbytes - row * stride - inside
        bad = max(address + nbytes, start + row * stride)
    direction = rng.choice((0, 1))
    return (0, row_bytes, start, stride, row_bytes, rows, direction), row, bad


def test_every_transfer_outside_an_allocation_is_located(is_long: bool) -> None:
    rng = random.Random(0)  # noqa: S311  a reproducible one
    with opened() as kernels:
        for _ in range(1000 if is_long else 20):
            device = kernels.device
            device.memory_allocate(rng.randint(1, 500))
            nbytes = rng.randint(1600, 3000)
            address = device.memory_allocate(nbytes)
            device.memory_allocate(rng.randint(1, 500))
            transfer, row, bad = outside(rng, address, nbytes)
            where = f"kernel 'transfer' on cluster 2, .* in row {row} of {transfer[5]} at {bad:#x}"
            with pytest.raises(DeviceFault, match=where):
                device.launch(kernels.transfer, [0, *transfer])
            device.init_device()
            kernels = Kernels(device)


@pytest.mark.parametrize("clusters", [1, 5])
def test_order_and_late_transfers_change_no_result(is_long: bool, clusters: int) -> None:
    exposing: dict[str, Any] = {"sim_schedule": "shuffled", "dma_mode": "deferred"}
    seeds = range(100 if is_long else 2)
    configs = ({}, *({**exposing, "seed": seed} for seed in seeds))
    check_order_changes_no_result(
        MppaDevice(MppaOptions(clusters=clusters, **config)) for config in configs
    )

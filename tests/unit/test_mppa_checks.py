# SPDX-License-Identifier: Apache-2.0
"""Failures of compiled graphs on the simulated MPPA are found, told, and leave nothing behind.

Faults of hand-written kernels, their places and addresses, and endless kernels are in
`test_mppa_faults.py`; races and late transfers of random graphs in `test_random_placements.py`.
"""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import psutil
import pytest

import xtc
import xtc.ops as O
from tests.unit.mppa_support import Kernels, opened
from tests.unit.offload_support import A, B, product
from xtc.core.errors import DeviceFault, DeviceLost, DeviceMemoryError, LaunchError
from xtc.graph.graph import Graph
from xtc_targets.mppa import MppaConfig, MppaDevice

pytestmark = pytest.mark.usefixtures("collected")
MEBIBYTE = 1 << 20


@pytest.fixture
def device() -> Iterator[MppaDevice]:
    with MppaDevice() as opened:
        yield opened


def children() -> int:
    """Processes that this one has, simulators among them."""
    return len(psutil.Process().children(recursive=True))


def test_running_out_of_memory_leaks_nothing(is_long: bool) -> None:
    x = O.tensor((512, 256), name="X")  # half a mebibyte
    with O.graph(name="big") as gb:
        O.relu(x, name="Y", device="mppa0")
    values = np.ones((512, 256), np.float32)
    config = MppaConfig(ddr_bytes=2 * MEBIBYTE)
    with MppaDevice(config) as device, xtc.compile(gb, device) as module:
        with device.empty(MEBIBYTE, "int8"):
            used, files = device.memory_info()[0], psutil.Process().num_fds()
            for _ in range(1000 if is_long else 20):
                with pytest.raises(
                    DeviceMemoryError, match="mppa0: cannot allocate 524288"
                ) as said:
                    module(values)
                assert said.value.notes[0].endswith(" of 2097152 bytes are free")
                assert device.memory_info()[0] == used
            assert psutil.Process().num_fds() == files
        np.testing.assert_array_equal(module(values).numpy(), values)


def test_a_launch_that_is_refused_is_told_by_the_call(device: MppaDevice) -> None:
    with O.graph(name="many") as gb:
        y = O.tensor((4, 4), name="X")
        for number in range(70):
            y = O.add(y, O.tensor((4, 4), name=f"X{number}"), device=device)
    inputs = [np.ones((4, 4), np.float32)] * 71
    with xtc.compile(gb) as module:
        for _ in range(2):
            with pytest.raises(LaunchError, match="a kernel takes 64 arguments at most, not 72"):
                module(*inputs)
        used = device.memory_info()[0]
    assert used == 0


def test_a_queue_that_refused_a_command_runs_nothing_more(device: MppaDevice) -> None:
    kernels, queue = Kernels(device), device.queue()
    with pytest.raises(LaunchError):
        queue.launch(kernels.empty, [0] * 65)
    with pytest.raises(LaunchError, match="64 arguments at most"):
        queue.wait(queue.fill_zero(device.memory_allocate(1), 1))


class TestFaults:
    def test_a_device_that_dies_is_opened_again_and_right(self, is_long: bool) -> None:
        before = children()
        with MppaDevice() as device:
            for number in range(100 if is_long else 6):
                fault = FAULTS[number % len(FAULTS)]
                with xtc.compile(product(device, weight=True)) as module:
                    np.testing.assert_allclose(module(A).numpy(), A @ B)
                    fault(device)
                    with pytest.raises(DeviceLost):
                        module(A)
                    device.init_device()
                    with pytest.raises(DeviceLost, match="compile or load the module again"):
                        module(A)
                assert device.memory_info()[0] == 0
        assert children() <= before

    def test_one_device_that_dies_does_not_concern_another(self, device: MppaDevice) -> None:
        with MppaDevice() as other, xtc.compile(product(other, weight=True)) as module:
            fault_in_a_kernel(device)
            module.check()

    def test_a_graph_on_two_devices_of_which_one_dies(self, device: MppaDevice) -> None:
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

    def test_arrays_of_a_device_that_died_are_gone(self, device: MppaDevice) -> None:
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


def kill_the_simulator(device: MppaDevice) -> None:
    """As the system does where memory is short; `device` is the only one that is open."""
    running = [one for one in psutil.Process().children() if one.name() == "mppa_sim"]
    (simulator,) = [one for one in running if one.status() != psutil.STATUS_ZOMBIE]
    simulator.send_signal(signal.SIGKILL)
    while simulator.status() != psutil.STATUS_ZOMBIE:
        time.sleep(0.001)


FAULTS = (fault_in_a_kernel, fault_in_a_transfer, kill_the_simulator)


def outside(rng: random.Random, address: int, nbytes: int) -> tuple[tuple[int, ...], int, int]:
    """A transfer that leaves an allocation in one row: its arguments, the row, the address."""
    rows, row_bytes = rng.randint(1, 9), rng.randint(1, 96)
    stride = row_bytes + rng.randint(0, 64)
    row = rng.randrange(rows)
    if rng.random() < 0.5 and rows == 1:  # before its begin
        start = address - rng.randint(1, row_bytes)
        bad, row = start, 0
    else:  # behind its end, first in that row
        inside = rng.randint(0 if row == 0 else row_bytes - stride, row_bytes - 1)
        start = address + nbytes - row * stride - inside
        bad = max(address + nbytes, start + row * stride)
    direction = rng.choice((0, 1))
    return (0, row_bytes, start, stride, row_bytes, rows, direction), row, bad


def test_every_transfer_outside_an_allocation_is_found_with_its_place(is_long: bool) -> None:
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


def pipelined() -> Graph:
    """Products, rows and windows, larger than the tiles."""
    x = O.tensor((70, 96), name="X")
    w = O.tensor((96, 50), name="W", device="mppa0")
    with O.graph(name="pipelined") as gb:
        y = O.relu(O.matmul(x, w, device="mppa0"), device="mppa0")
        O.outputs(O.softmax(y, axis=1, name="S", device="mppa0"), O.exp(y, name="E"))
    return gb.graph


@pytest.mark.parametrize("clusters", [1, 5])
def test_no_order_and_no_late_transfer_changes_a_result(is_long: bool, clusters: int) -> None:
    graph, results = pipelined(), []
    exposing: dict[str, Any] = {"sim_schedule": "shuffled", "dma_mode": "deferred"}
    rng = np.random.default_rng(0)
    x, w = rng.random((70, 96), np.float32), rng.random((96, 50), np.float32)
    seeds = range(100 if is_long else 2)
    for config in ({}, *({**exposing, "seed": seed} for seed in seeds)):
        with (
            MppaDevice(MppaConfig(clusters=clusters, **config)) as device,
            xtc.compile(graph, device) as module,
        ):
            results.append([np.asarray(one) for one in module(x, device.array(w))])
    for result in results[1:]:
        for one, first in zip(result, results[0], strict=True):
            np.testing.assert_array_equal(one, first)
    np.testing.assert_allclose(results[0][1], np.exp(x @ w), rtol=1e-4)

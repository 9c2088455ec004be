# SPDX-License-Identifier: Apache-2.0
"""Signals are handled immediately during a simulated kernel; a stopped simulator keeps its time
limit."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psutil
import pytest

import xtc
import xtc.ops as O
from tests.unit.mppa_support import Kernels, opened
from xtc.core.errors import DeviceLost, DeviceTimeout
from xtc.runtime.interruptible import interruptible
from xtc_targets.upmem import UpmemDevice

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("collected")]

_LONG_S = 600.0  # the time limit of kernels that must not be awaited


@contextmanager
def _later(number: int, process: int) -> Iterator[None]:
    timer = threading.Timer(0.3, os.kill, (process, number))
    timer.start()
    yield
    timer.join()


@contextmanager
def _once_busy(number: int, process: int) -> Iterator[None]:
    """Send the signal after the simulator has computed for a tenth of a second."""
    simulator = psutil.Process(_simulator())
    before = simulator.cpu_times().user

    def send() -> None:
        while simulator.cpu_times().user < before + 0.1:
            time.sleep(0.01)
        os.kill(process, number)

    sender = threading.Thread(target=send)
    sender.start()
    yield
    sender.join()


@pytest.fixture(autouse=True)
def _default_handler() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def _simulator(name: str = "mppa_sim") -> int:
    """The only simulator process of this process."""
    found = [
        int(stat.parent.name)
        for stat in Path("/proc").glob("[0-9]*/stat")
        if f"{name}) " in (text := stat.read_text())
        and int(text.rpartition(")")[2].split()[1]) == os.getpid()
    ]
    (process,) = found
    return process


def _run_for_good(kernels: Kernels) -> None:
    kernels.device.launch(kernels.wait_for_word, [kernels.device.zeros(1, "int32")])


def test_ctrl_c_ends_a_kernel() -> None:
    with (
        opened(timeout_s=_LONG_S) as kernels,
        _later(signal.SIGINT, os.getpid()),
    ):
        with pytest.raises(KeyboardInterrupt):
            _run_for_good(kernels)
        with pytest.raises(DeviceLost):
            kernels.device.memory_allocate(4)
        kernels.device.init_device()
        assert kernels.device.memory_allocate(4)


def test_ctrl_c_ends_the_wait_for_a_queue() -> None:
    with opened(timeout_s=_LONG_S) as kernels:
        word = kernels.device.zeros(1, "int32")
        queue = kernels.device.queue()
        queue.launch(kernels.wait_for_word, [word])
        with _later(signal.SIGINT, os.getpid()), pytest.raises(KeyboardInterrupt):
            queue.wait()


def test_ctrl_c_ends_a_call_of_a_module() -> None:
    with opened(timeout_s=_LONG_S) as kernels:
        a, b = (O.tensor((4096, 4096), name=name, device=kernels.device) for name in "AB")
        with O.graph(name="endless") as gb:
            O.matmul(a, b, device=kernels.device)
        arrays = [kernels.device.zeros((4096, 4096), "float32") for _ in "AB"]
        with xtc.compile(gb.graph) as module:
            with _once_busy(signal.SIGINT, os.getpid()), pytest.raises(KeyboardInterrupt):
                module(*arrays)
            with pytest.raises(DeviceLost):
                module(*arrays)


def test_a_handler_that_does_not_raise_runs_immediately() -> None:
    with opened(timeout_s=_LONG_S) as kernels:
        word = kernels.device.zeros(1, "int32")
        queue = kernels.device.queue()

        def let_go(*_: object) -> None:
            content = memoryview(bytes([1, 0, 0, 0]))
            beside = kernels.device.queue()
            beside.wait(beside.copy_to(word.address, content, parallel=True))

        signal.signal(signal.SIGINT, let_go)
        with _later(signal.SIGINT, os.getpid()):
            queue.launch(kernels.wait_for_word, [word])
            queue.wait()
        assert word.numpy().tolist() == [1]


def test_a_stopped_simulator_is_killed_at_the_time_limit() -> None:
    with opened(timeout_s=0.5) as kernels:
        process = _simulator()
        os.kill(process, signal.SIGSTOP)
        with pytest.raises(DeviceTimeout, match=rf"process {process} was stopped for more than"):
            _run_for_good(kernels)


def test_stopped_dpus_are_abandoned() -> None:
    x = np.ones((8, 8), np.float32)
    with UpmemDevice() as device:
        with O.graph(name="stopped") as gb:
            O.relu(O.tensor(x.shape), device=device)
        with xtc.compile(gb.graph) as module:
            module(x)
            os.kill(_simulator("upmem_sim"), signal.SIGSTOP)
            with pytest.raises(DeviceLost, match="process is gone"):
                module(x)


def test_a_call_that_ends_soon_is_awaited() -> None:
    with opened(timeout_s=_LONG_S) as kernels:
        word = kernels.device.zeros(1, "int32")
        queue, beside = kernels.device.queue(), kernels.device.queue()
        queue.launch(kernels.wait_for_word, [word])

        def interrupt_and_let_go() -> None:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.05)
            content = memoryview(bytes([1, 0, 0, 0]))
            beside.wait(beside.copy_to(word.address, content, parallel=True))

        timer = threading.Timer(0.1, interrupt_and_let_go)
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            queue.wait()
        timer.join()
        assert word.numpy().tolist() == [1]


def test_simultaneous_signals_are_all_handled() -> None:
    served: list[int] = []

    def fail(number: int, _: object) -> None:
        served.append(number)
        raise ValueError(number)

    def send_all() -> None:
        for number in numbers:
            os.kill(os.getpid(), number)

    numbers = [signal.SIGUSR1, signal.SIGUSR2]
    before = [signal.signal(number, fail) for number in numbers]
    try:
        for _ in range(2):
            with opened(timeout_s=_LONG_S) as kernels:
                timer = threading.Timer(0.2, send_all)
                timer.start()
                with pytest.raises(
                    ValueError, match=r"^1[02]$"
                ):  # the exception of the first one handled
                    _run_for_good(kernels)
                timer.join()
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
    assert sorted(served) == sorted(numbers * 2)


def test_an_exception_of_the_call_reaches_the_caller() -> None:
    def fail() -> None:
        raise DeviceLost("gone")

    with pytest.raises(DeviceLost, match="gone"):
        interruptible(fail, lambda: None)

# SPDX-License-Identifier: Apache-2.0
"""Queues of every target's device: failing commands, closed queues and devices."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable

import pytest

from tests.unit.device_contract import ASYNCHRONOUS, Gate, Kernels, Kind, kernels, kind
from xtc.core.errors import (
    DeviceError,
    DeviceFault,
    DeviceLost,
    DeviceMemoryError,
    DeviceTimeout,
    LaunchError,
    UserError,
)
from xtc.runtime import DriverQueue

PATIENCE = 60  # seconds after which a hanging test fails

__all__ = ["kernels", "kind"]

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("collected")]


def fail() -> None:
    raise RuntimeError("a callback's own mistake")


Wrong = Callable[[DriverQueue, Kernels, int], object]


@pytest.mark.parametrize(
    ("wrong", "name", "error"),
    [
        (lambda q, k, a: q.copy_to(a + 1, memoryview(bytes(8))), "copy_to", DeviceMemoryError),
        (lambda q, k, a: q.copy_from(memoryview(bytearray(9)), a), "copy_from", DeviceMemoryError),
        (lambda q, k, a: q.copy_within(a, a + 4, 8), "copy_within", DeviceMemoryError),
        (lambda q, k, a: q.fill_zero(a, 100), "fill", DeviceMemoryError),
    ],
)
def test_an_error_is_raised_by_the_wait_and_names_its_command(
    kernels: Kernels, wrong: Wrong, name: str, error: type[Exception]
) -> None:
    address, seen = kernels.device.memory_allocate(8), list[int]()
    device_name = kernels.device.device_name
    queue = kernels.device.queue()
    before = queue.callback(lambda: seen.append(1))
    wrong(queue, kernels, address)
    after = queue.callback(lambda: seen.append(2))
    queue.wait(before)
    for _ in range(2):
        with pytest.raises(error, match=f"{device_name}: command 1 of the queue, {name}: "):
            queue.wait(after)
    with pytest.raises(error, match="command 1"):
        queue.wait()
    assert (seen, after.done) == ([1], False)
    queue.wait(before)


@ASYNCHRONOUS
def test_a_faulting_kernel_is_named_and_ends_the_device(kernels: Kernels) -> None:
    device, queue = kernels.device, kernels.device.queue()
    queue.launch(kernels.fault, [])
    said = rf"{device.device_name}: command 0 of the queue, launch: kernel 'fault'.* at 0x8"
    for _ in range(2):
        with pytest.raises(DeviceFault, match=said):
            queue.wait()
    with pytest.raises(DeviceLost, match="the device has stopped: kernel 'fault'"):
        device.memory_allocate(8)
    device.init_device()
    assert device.memory_info()[0] == 0


@ASYNCHRONOUS
def test_an_endless_kernel_is_stopped(kind: Kind) -> None:
    assert kind.impatient is not None
    with kind.impatient() as device:
        queue = device.queue()
        Gate(Kernels(device, kind)).start(queue)
        with pytest.raises(DeviceTimeout, match=r"'wait_for_word'.* ran for more than 0\.2 s"):
            queue.wait()


def test_invalid_commands_are_refused_at_once(kernels: Kernels) -> None:
    queue = kernels.device.queue()
    with pytest.raises(LaunchError, match="not a device function"):
        queue.launch("step", [])
    with pytest.raises(UserError, match="neither a number nor an array"):
        queue.launch(kernels.step, ["there"])
    with pytest.raises(UserError, match="read-only"):
        queue.copy_from(memoryview(b"12"), 0)
    queue.wait()


def test_queues_fail_independently(kernels: Kernels) -> None:
    first, second = kernels.device.queue(), kernels.device.queue()
    first.fill_zero(0, 1)
    seen: list[int] = []
    second.callback(lambda: seen.append(2))
    second.wait()
    with pytest.raises(DeviceMemoryError):
        first.wait()
    assert seen == [2]
    third = kernels.device.queue()
    third.wait(third.callback(lambda: seen.append(3)))


def test_a_failing_callback_stops_the_queue(kernels: Kernels) -> None:
    queue = kernels.device.queue()
    seen: list[int] = []
    queue.callback(fail)
    queue.callback(lambda: seen.append(1))
    for _ in range(2):
        with pytest.raises(RuntimeError, match="own mistake"):
            queue.wait()
    assert not seen


def test_a_failure_propagates_to_waiting_queues(kernels: Kernels) -> None:
    with kernels.kind.opened() as other:
        first, second, third = kernels.device.queue(), kernels.device.queue(), other.device.queue()
        failing = first.fill_zero(0, 1)
        second.after(failing)
        third.after(failing)
        for queue in (second, third):
            with pytest.raises(DeviceMemoryError, match=r"0 of the queue, after: .*0 of .*, fill"):
                queue.wait()
        four = kernels.device.queue()
        five = kernels.device.queue()
        five.after(four.callback(fail))
        with pytest.raises(DeviceError, match="RuntimeError: a callback's own mistake"):
            five.wait()


@ASYNCHRONOUS
def test_a_closed_queue_refuses_commands_and_drops_pending_ones(kernels: Kernels) -> None:
    gate, queue, other = Gate(kernels), kernels.device.queue(), kernels.device.queue()
    seen: list[int] = []
    gate.start(other)
    event = queue.callback(lambda: seen.append(1))
    queue.close()
    queue.close()
    with pytest.raises(DeviceLost, match=f"queue of {kernels.device.device_name} is closed"):
        queue.callback(lambda: seen.append(2))
    with pytest.raises(DeviceLost):
        queue.wait(event)
    gate.open(other)
    other.wait()
    assert not seen


@ASYNCHRONOUS
def test_closing_a_queue_wakes_waiting_threads(kernels: Kernels) -> None:
    gate, queue, other = Gate(kernels), kernels.device.queue(), kernels.device.queue()
    gate.start(other)
    event = queue.callback(lambda: None)
    errors: list[Exception] = []

    def wait() -> None:
        try:
            queue.wait(event)
        except DeviceLost as error:
            errors.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    queue.close()
    gate.open(other)
    thread.join(PATIENCE)
    assert len(errors) == 1


@ASYNCHRONOUS
def test_closing_the_device_closes_its_queues_and_ends_its_kernels(kernels: Kernels) -> None:
    gate, queue = Gate(kernels), kernels.device.queue()
    kernel = gate.start(queue)
    late = queue.callback(fail)
    kernels.device.close()
    for event in (kernel, late):
        with pytest.raises(DeviceLost):
            queue.wait(event)
    with pytest.raises(DeviceLost, match=f"{kernels.device.device_name} is closed"):
        kernels.device.queue()


@ASYNCHRONOUS
def test_a_collected_queue_is_closed(kernels: Kernels) -> None:
    gate, other = Gate(kernels), kernels.device.queue()
    seen: list[int] = []
    gate.start(other)
    queue = kernels.device.queue()
    queue.callback(lambda: seen.append(1))
    del queue
    gc.collect()
    gate.open(other)
    other.wait()
    assert not seen


def test_queues_need_an_open_device(kind: Kind) -> None:
    device = kind.make()
    device.queue().wait()
    device.close()
    with pytest.raises(DeviceLost):
        device.queue()

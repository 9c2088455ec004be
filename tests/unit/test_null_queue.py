# SPDX-License-Identifier: Apache-2.0
"""The null device's command queue keeps the contract: order, events, errors that name a command."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from xtc.core.errors import DeviceLost, DeviceMemoryError, LaunchError, UserError
from xtc.interfaces.runtime import CommandQueue
from xtc_targets.null import NullDevice

IMAGE = b"func.func @kernel() {"


@pytest.fixture
def device() -> Iterator[NullDevice]:
    with NullDevice() as opened:
        yield opened


def fail() -> None:
    raise RuntimeError("a callback's own mistake")


def test_commands_run_in_the_order_they_were_given(device: NullDevice) -> None:
    address = device.memory_allocate(4)
    kernel = device.get_module_function(device.load_module(IMAGE), "kernel")
    there, back = np.array([1, 2, 3, 4], np.uint8), np.zeros(4, np.uint8)
    seen: list[list[int]] = []
    queue = device.queue()
    queue.copy_to(address, there.data)
    queue.copy_from(back.data, address)
    queue.callback(lambda: seen.append(back.tolist()))
    queue.launch(kernel, [address, 7])
    queue.fill_zero(address + 1, 2)
    queue.copy_from(back.data, address, parallel=True)
    assert (seen, back.tolist()) == ([], [0, 0, 0, 0])
    queue.wait()
    assert (seen, back.tolist()) == ([[1, 2, 3, 4]], [1, 0, 0, 4])
    assert list(device.commands)[1:] == [
        f"copy_to {address:#x} 4",
        f"copy_from {address:#x} 4",
        f"launch kernel {address:#x} 0x7",
        f"fill_zero {address + 1:#x} 2",
        f"copy_from {address:#x} 4",
    ]


def test_waiting_for_an_event_runs_what_came_before_it(device: NullDevice) -> None:
    seen: list[int] = []
    queue = device.queue()
    first = queue.callback(lambda: seen.append(1))
    middle = queue.event()
    last = queue.callback(lambda: seen.append(2))
    assert [first.done, middle.done, last.done] == [False, False, False]
    queue.wait(middle)
    assert (seen, first.done, middle.done, last.done) == ([1], True, True, False)
    queue.wait(first)
    assert seen == [1]
    queue.wait(last)
    queue.wait(last)
    assert (seen, last.done) == ([1, 2], True)


def test_an_empty_queue_is_done(device: NullDevice) -> None:
    queue = device.queue()
    assert queue.event().done
    queue.wait()


def test_queues_are_independent_unless_told(device: NullDevice) -> None:
    seen: list[str] = []
    one, two = device.queue(), device.queue()
    event = one.callback(lambda: seen.append("one"))
    two.callback(lambda: seen.append("two"))
    two.wait()
    assert seen == ["two"]
    two.after(event)
    two.callback(lambda: seen.append("two again"))
    two.wait()
    assert seen == ["two", "one", "two again"]


def test_one_device_can_wait_for_another(device: NullDevice) -> None:
    with NullDevice() as other:
        seen: list[str] = []
        queue, others = device.queue(), other.queue()
        queue.after(others.callback(lambda: seen.append("other")))
        queue.callback(lambda: seen.append("own"))
        queue.wait()
    assert seen == ["other", "own"]


def test_an_event_of_another_queue_is_no_place_to_wait_for(device: NullDevice) -> None:
    event = device.queue().event()
    with pytest.raises(UserError, match="belongs to another queue"):
        device.queue().wait(event)
    with pytest.raises(UserError, match="not an event"):
        device.queue().wait("soon")  # type: ignore[arg-type]


Wrong = Callable[[CommandQueue, int], object]


@pytest.mark.parametrize(
    ("wrong", "name", "error"),
    [
        (lambda q, a: q.copy_to(a + 1, memoryview(bytes(8))), "copy_to", DeviceMemoryError),
        (lambda q, a: q.copy_from(memoryview(bytearray(9)), a), "copy_from", DeviceMemoryError),
        (lambda q, a: q.fill_zero(a, 100), "fill_zero", DeviceMemoryError),
        (lambda q, a: q.launch("kernel", [a]), "launch", LaunchError),
    ],
)
def test_an_error_surfaces_at_the_wait_and_names_its_command(
    device: NullDevice, wrong: Wrong, name: str, error: type[Exception]
) -> None:
    address, seen = device.memory_allocate(8), list[int]()
    queue = device.queue()
    before = queue.callback(lambda: seen.append(1))
    wrong(queue, address)
    after = queue.callback(lambda: seen.append(2))
    queue.wait(before)
    for _ in range(2):
        with pytest.raises(error, match=f"command 1 of the queue, {name}: "):
            queue.wait(after)
    assert (seen, after.done) == ([1], False)
    queue.wait(before)


def test_a_callback_that_fails_stops_the_queue(device: NullDevice) -> None:
    queue = device.queue()
    queue.callback(fail)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="own mistake"):
            queue.wait()


def test_a_failure_reaches_the_queue_that_waits_for_it(device: NullDevice) -> None:
    one, two = device.queue(), device.queue()
    two.after(one.fill_zero(0, 1))
    with pytest.raises(DeviceMemoryError, match=r"0 of the queue, after: .* 0 of .*, fill_zero: "):
        two.wait()


def test_a_closed_queue_takes_no_commands_and_drops_those_it_has(device: NullDevice) -> None:
    seen: list[int] = []
    queue = device.queue()
    event = queue.callback(lambda: seen.append(1))
    queue.close()
    queue.close()
    with pytest.raises(DeviceLost, match="queue of null0 is closed"):
        queue.callback(lambda: seen.append(2))
    with pytest.raises(DeviceLost):
        queue.wait(event)
    assert not seen


def test_closing_the_device_closes_its_queues(device: NullDevice) -> None:
    queue = device.queue()
    event = queue.event()
    late = queue.callback(fail)
    device.close()
    queue.wait(event)
    with pytest.raises(DeviceLost):
        queue.wait(late)
    with pytest.raises(DeviceLost, match="null0 is closed"):
        device.queue()


def test_memory_must_be_left_alone_until_the_copy_is_done(device: NullDevice) -> None:
    address, data = device.memory_allocate(1), np.array([1], np.uint8)
    queue = device.queue()
    queue.copy_to(address, data.data)
    data[0] = 2
    queue.wait()
    device.memory_copy_from(data.data, address)
    assert data[0] == 2

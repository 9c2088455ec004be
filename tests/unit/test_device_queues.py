# SPDX-License-Identifier: Apache-2.0
"""Command queues of every target's device: order, events, asynchrony, callbacks."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable

import numpy as np
import pytest

from tests.unit.device_contract import ASYNCHRONOUS, Gate, Kernels, Kind, kernels, kind
from xtc.core.errors import (
    UserError,
)
from xtc.runtime import DriverQueue

PATIENCE = 60  # seconds after which a hanging test fails

__all__ = ["kernels", "kind"]

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("collected")]


def test_commands_run_in_order(kernels: Kernels) -> None:
    array = kernels.device.zeros(2, "int64")
    there, back = np.array([3, 4]), np.zeros(2, np.int64)
    seen: list[list[int]] = []
    queue = kernels.device.queue()
    queue.copy_to(array.address, there.data)
    queue.launch(kernels.step, [array, 2])
    queue.copy_from(back.data, array.address)
    queue.callback(lambda: seen.append(back.tolist()))
    queue.copy_within(array.address + 8, array.address, 8)
    queue.launch(kernels.step, [array, 10])
    queue.copy_from(back.data, array.address)
    queue.callback(lambda: seen.append(back.tolist()))
    queue.fill_zero(array.address, 8)
    queue.copy_from(back.data, array.address)
    queue.wait()
    assert seen == [[7, 4], [71, 7]]
    assert back.tolist() == [0, 7]


def test_more_kernels_than_the_device_queues_run_in_order(kernels: Kernels) -> None:
    array = kernels.device.zeros(1, "int64")
    queue = kernels.device.queue()
    expected = 0
    for number in range(300):
        queue.launch(kernels.step, [array, number % 7 - 3])
        expected = expected * (number % 7 - 3) + 1
    queue.wait()
    assert array.numpy()[0] == expected


@ASYNCHRONOUS
def test_a_launch_returns_before_the_kernel_ends(kernels: Kernels) -> None:
    gate, queue = Gate(kernels), kernels.device.queue()
    event = gate.start(queue)
    after = queue.event()
    assert [event.done, after.done] == [False, False]
    gate.open(kernels.device.queue())
    queue.wait()
    assert [event.done, after.done] == [True, True]


@ASYNCHRONOUS
def test_parallel_commands_of_a_queue_overlap_with_its_kernel(kernels: Kernels) -> None:
    gate, queue = Gate(kernels), kernels.device.queue()
    seen: list[bool] = []
    kernel = gate.start(queue)
    queue.wait(queue.callback(lambda: seen.append(kernel.done), parallel=True))
    gate.open(queue)
    queue.callback(lambda: seen.append(kernel.done))
    queue.wait()
    assert seen == [False, True]


@ASYNCHRONOUS
def test_parallel_commands_overtake_only_other_queues(kernels: Kernels) -> None:
    gate, queue, other = Gate(kernels), kernels.device.queue(), kernels.device.queue()
    word, seen = np.zeros(1, np.int32), list[str]()
    gate.start(queue)
    copy = queue.copy_from(word.data, gate.word.address)
    late = queue.callback(lambda: seen.append("late"), parallel=True)
    other.wait(other.callback(lambda: seen.append("beside"), parallel=True))
    assert (copy.done, late.done, seen) == (False, False, ["beside"])
    gate.open(other)
    queue.wait()
    assert (word[0], seen) == (1, ["beside", "late"])


def test_callbacks_run_without_a_wait(kernels: Kernels) -> None:
    array, queue = kernels.device.zeros(1, "int64"), kernels.device.queue()
    called = threading.Event()
    queue.launch(kernels.step, [array, 1])
    queue.callback(called.set)
    assert called.wait(PATIENCE)
    assert array.numpy()[0] == 1


@ASYNCHRONOUS
def test_waiting_for_an_event_completes_earlier_commands(kernels: Kernels) -> None:
    gate, queue = Gate(kernels), kernels.device.queue()
    seen: list[int] = []
    first = queue.callback(lambda: seen.append(1))
    middle = queue.event()
    gate.start(queue)
    last = queue.callback(lambda: seen.append(2))
    queue.wait(middle)
    assert (seen, first.done, middle.done, last.done) == ([1], True, True, False)
    queue.wait(first)
    other = kernels.device.queue()
    with pytest.raises(UserError, match="belongs to another queue"):
        other.wait(last)
    gate.open(other)
    queue.wait(last)
    assert (seen, last.done) == ([1, 2], True)


def test_an_empty_queue_is_done(kernels: Kernels) -> None:
    queue = kernels.device.queue()
    queue.wait()
    event = queue.event()
    queue.wait(event)
    assert event.done


def test_a_queue_can_wait_for_another(kernels: Kernels) -> None:
    seen: list[str] = []
    first, second = kernels.device.queue(), kernels.device.queue()
    event = first.callback(lambda: seen.append("first"))
    second.after(event)
    second.callback(lambda: seen.append("second"))
    second.wait()
    assert seen == ["first", "second"]
    first.close()
    assert not event.done, "nothing is known of a closed queue"


@ASYNCHRONOUS
def test_one_device_can_wait_for_another(kernels: Kernels) -> None:
    with kernels.kind.opened() as other:
        gate = Gate(other)
        queue, others = kernels.device.queue(), other.device.queue()
        kernel = gate.start(others)
        queue.after(kernel)
        seen: list[bool] = []
        after = queue.callback(lambda: seen.append(kernel.done))
        assert not after.done
        gate.open(others)
        queue.wait()
        assert seen == [True]


def test_waiting_for_a_completed_event_returns(kernels: Kernels) -> None:
    with kernels.kind.opened() as other:
        others = other.device.queue()
        event = others.callback(lambda: None)
        others.wait(event)
        queue = kernels.device.queue()
        queue.after(event)
        others.close()
        queue.wait()


def test_only_events_of_devices_can_be_waited_for(kernels: Kernels) -> None:
    queue = kernels.device.queue()
    for wrong in ("soon", 1):
        with pytest.raises(UserError, match="not an event"):
            queue.wait(wrong)
        with pytest.raises(UserError, match="not an event"):
            queue.after(wrong)


def test_a_callback_may_copy_and_submit_commands(kernels: Kernels) -> None:
    array, queue = kernels.device.array(np.array([41])), kernels.device.queue()
    seen: list[int] = []

    def react() -> None:
        kernels.device.memory_copy_from(value.data, array.address)
        queue.launch(kernels.step, [array, 1])
        queue.callback(lambda: seen.append(2))
        seen.append(1)

    value = np.zeros(1, np.int64)
    queue.wait(queue.callback(react))
    queue.wait()
    assert (value[0], array.numpy()[0], seen) == (41, 42, [1, 2])


def test_a_callback_may_launch_kernels(kernels: Kernels) -> None:
    array, queue = kernels.device.array(np.array([41])), kernels.device.queue()
    queue.callback(lambda: kernels.device.launch(kernels.step, [array, 1]))
    queue.wait()
    assert array.numpy()[0] == 42


@pytest.mark.parametrize(
    "wrong",
    [
        lambda kernels, queue: queue.wait(),
        lambda kernels, queue: queue.wait(queue.launch(kernels.empty, [])),
        lambda kernels, queue: kernels.device.close(),
    ],
)
def test_a_callback_cannot_wait_for_later_commands(
    kernels: Kernels, wrong: Callable[[Kernels, DriverQueue], None]
) -> None:
    queue = kernels.device.queue()
    queue.callback(lambda: wrong(kernels, queue))
    with pytest.raises(UserError, match="a callback cannot"):
        queue.wait()


@ASYNCHRONOUS
def test_a_parallel_callback_cannot_launch_kernels(kernels: Kernels) -> None:
    gate, queue, other = Gate(kernels), kernels.device.queue(), kernels.device.queue()
    empty = kernels.empty
    gate.start(queue)
    other.callback(lambda: kernels.device.launch(empty), parallel=True)
    with pytest.raises(UserError, match="a parallel callback cannot wait"):
        other.wait()
    gate.open(kernels.device.queue())


@ASYNCHRONOUS
def test_waiting_for_a_parallel_command_does_not_wait_for_the_kernel(kind: Kind) -> None:
    started, released = threading.Event(), threading.Event()

    def work() -> None:
        started.set()
        released.wait()

    with kind.opened() as kernels:
        gate, queue, other = Gate(kernels), kernels.device.queue(), kernels.device.queue()
        gate.start(queue)
        other.callback(work, parallel=True)
        started.wait()  # on the thread of the queues
        threading.Timer(0.05, released.set).start()
        other.wait()
        gate.open(kernels.device.queue())
        queue.wait()


@ASYNCHRONOUS
def test_memory_of_a_copy_is_kept_until_completion(kernels: Kernels) -> None:
    gate, queue = Gate(kernels), kernels.device.queue()
    array = kernels.device.zeros(1000, "int64")
    data = np.arange(1000)
    alive = weakref.ref(data)
    gate.start(queue)
    queue.copy_to(array.address, data.data)
    del data
    gc.collect()
    assert alive() is not None
    kernels.device.close()
    gc.collect()
    assert alive() is None


def test_memory_of_a_completed_copy_is_released(kernels: Kernels) -> None:
    queue = kernels.device.queue()
    array, data = kernels.device.zeros(1000, "int64"), np.arange(1000)
    alive = weakref.ref(data)
    queue.copy_to(array.address, data.data)
    del data
    queue.wait()
    gc.collect()
    assert alive() is None
    assert array.numpy()[999] == 999


def test_many_threads_submit_commands(kernels: Kernels) -> None:
    device = kernels.device
    results: list[bool] = []

    def work(number: int) -> None:
        queue = device.queue()
        array, back = device.array(np.array([number])), np.zeros(1, np.int64)
        for _ in range(100):
            queue.launch(kernels.step, [array, 1])
        queue.copy_from(back.data, array.address)
        queue.wait()
        results.append(back[0] == number + 100)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert results == [True] * 4

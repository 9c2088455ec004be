# SPDX-License-Identifier: Apache-2.0
"""Devices that consist of several: commands fan out and join, memory is replicated or sharded."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
import psutil
import pytest

from tests.unit.device_contract import KINDS, Kernels
from xtc.core.errors import DeviceError, DeviceFault, DeviceMemoryError, LaunchError, UserError
from xtc.runtime import BorrowedArray, OpenDevice, built_driver
from xtc.runtime.device_set import open_set
from xtc_targets.mppa import MppaOptions, simulator
from xtc_targets.mppa.device import MppaDevice as _Mppa
from xtc_targets.null import NullDevice

MEMORIES = 3
NULL = next(device_kind for device_kind in KINDS if device_kind.name == "null")
MPPA = next(device_kind for device_kind in KINDS if device_kind.name == "mppa:sim")

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("collected")]


class SetOfMppas(_Mppa):
    """Simulated MPPAs as one device: each is a process with its own engine."""

    def _connect(self, name: str) -> OpenDevice:
        program, library = simulator.units()
        folder, driver = built_driver(program, library)
        executable = os.fsencode(folder / program.name)
        config = simulator.config_of(self.options, self.machine, executable, None)
        return open_set(driver, [config] * MEMORIES, name)


@pytest.fixture(params=["null", "mppa"])
def kernels(request: pytest.FixtureRequest) -> Iterator[Kernels]:
    if request.param == "null":
        with NullDevice(memory_bytes=1 << 20, memories=MEMORIES) as device:
            yield Kernels(device, NULL)
    else:
        with SetOfMppas(MppaOptions(ddr_bytes=1 << 20)) as device:
            yield Kernels(device, MPPA)


@pytest.fixture
def asynchronous() -> Iterator[Kernels]:
    with SetOfMppas(MppaOptions(ddr_bytes=1 << 20)) as device:
        yield Kernels(device, MPPA)


def test_a_set_has_its_members_memories(kernels: Kernels) -> None:
    device = kernels.device
    assert device.memory_count == MEMORIES
    assert device.memory_info() == (0, MEMORIES << 20)
    with device.empty(1000, "int8"):
        assert device.memory_info()[0] == MEMORIES * 1000
    with device.empty(1000, "int8", shards=3):
        assert device.memory_info()[0] == MEMORIES * 334
    assert device.memory_info()[0] == 0


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 9])
def test_consecutive_rows_are_in_consecutive_memories(kernels: Kernels, rows: int) -> None:
    values = np.arange(rows * 5, dtype=np.int32).reshape(rows, 5)
    array = kernels.device.array(values, shards=MEMORIES)
    assert array.shards == MEMORIES
    assert f"{rows}x5xint32 in 3 shards" in repr(array)
    np.testing.assert_array_equal(array.numpy(), values)
    part = np.zeros(5, np.int32)
    for row in range(rows):
        kernels.device.memory_copy_from(part.data, array.address + row * 20)
        np.testing.assert_array_equal(part, values[row])
    kernels.device.memory_fill_zero(array.address + 4, array.nbytes - 8)
    assert np.flatnonzero(array.numpy()).tolist() == ([rows * 5 - 1] if rows * 5 > 1 else [])


def test_each_member_computes_on_its_shard(kernels: Kernels) -> None:
    array = kernels.device.array(np.array([10, 20, 30]), shards=3)
    kernels.device.launch(kernels.step, [array, 2])
    assert array.numpy().tolist() == [21, 41, 61]
    same = kernels.device.array(np.array([5]))
    kernels.device.launch(kernels.step, [same, 3])
    assert same.numpy().tolist() == [16]


def test_fewer_shards_than_memories_are_padded(kernels: Kernels) -> None:
    array = kernels.device.array(np.array([10, 20]), shards=2)
    kernels.device.launch(kernels.step, [array, 2])
    assert array.numpy().tolist() == [21, 41]


def test_copies_are_counted_per_member(kernels: Kernels) -> None:
    def copied(shards: int) -> float:
        counters = kernels.device.counters
        name = next(
            counter for counter in counters() if "H2D_BYTES" in counter or "to_device" in counter
        )
        before = counters()[name]
        kernels.device.array(np.zeros(300, np.int8), shards=shards).free()
        return float(counters()[name] - before)

    assert copied(MEMORIES) == 300
    assert copied(0) == MEMORIES * 300


def test_invalid_numbers_of_shards_are_refused(kernels: Kernels) -> None:
    device = kernels.device
    with pytest.raises(UserError, match="do not fit 3 memories"):
        device.empty(8, "int8", shards=4)
    with pytest.raises(UserError, match=r"an array of shape \(\) has no 2 shards"):
        device.empty((), "int8", shards=2)
    with NullDevice() as single, pytest.raises(UserError, match="the device has one"):
        single.empty(8, "int8", shards=2)
    with pytest.raises(DeviceMemoryError, match="not inside an allocation"):
        device.memory_copy_to(device.empty(8, "int8").address + 1, np.zeros(8, np.int8).data)
    array = device.zeros(6, "int64", shards=3)
    inside = BorrowedArray(device, (1,), "int64", array.address + 8, array)
    with pytest.raises(LaunchError, match="is not the start of its shards"):
        device.launch(kernels.step, [inside, 1])


def test_equally_sharded_arrays_are_copied_within_the_device(kernels: Kernels) -> None:
    device, values = kernels.device, np.arange(9)
    a, b = device.array(values, shards=3), device.zeros(9, "int64", shards=3)
    other = device.zeros(9, "int64")
    queue = device.queue()
    queue.copy_within(b.address, a.address, a.nbytes)
    queue.wait()
    assert b.numpy().tolist() == values.tolist()
    with pytest.raises(UserError, match="must go through the host"):
        queue.copy_within(other.address, a.address, a.nbytes)


def test_commands_of_a_queue_are_in_order_and_a_callback_joins(kernels: Kernels) -> None:
    device, seen = kernels.device, []
    array = device.array(np.array([1, 2, 3]), shards=3)
    back = np.zeros(3, np.int64)
    queue = device.queue()
    for factor in (2, 3):
        queue.launch(kernels.step, [array, factor])
    queue.copy_from(back.data, array.address)
    queue.callback(lambda: seen.append(back.tolist()))
    event = queue.event()
    queue.wait(event)
    assert (seen, event.done) == ([[10, 16, 22]], True)


def test_one_member_copies_while_another_computes(asynchronous: Kernels) -> None:
    device = asynchronous.device
    # The kernel ends at once if the memory's word is not 0: on all members except the first.
    words = device.array(np.array([0, 1, 1], np.int32), shards=3)
    values = device.array(np.array([7, 8, 9]), shards=3)
    queue = device.queue()
    started = queue.launch(asynchronous.wait_for_word, [words])
    back = np.zeros(2, np.int64)
    queue.wait(queue.copy_from(back.data, values.address + 8))  # of the second and third
    assert (back.tolist(), started.done) == ([8, 9], False)
    queue.copy_to(words.address, np.ones(1, np.int32).data, parallel=True)
    queue.wait()
    assert started.done


def test_members_copy_the_same_host_memory_in_order(kernels: Kernels) -> None:
    device, queue = kernels.device, kernels.device.queue()
    shards, whole = device.zeros(30_000, "int64", shards=3), device.zeros(30_000, "int64")
    host = np.zeros(30_000, np.int64)
    for value in range(1, 20):
        host[:] = 0
        shards.write(np.full(30_000, value))
        queue.copy_from(host.data, shards.address)
        queue.copy_to(whole.address, host.data)  # each member reads what all have written
        queue.copy_from(host.data, shards.address)
        queue.wait()
        assert (whole.numpy() == value).all()
        device.launch(kernels.step, [whole, 1])  # the first element of each member's own copy
        assert whole.numpy()[0] == value + 1


def test_two_sets_wait_for_each_other(kernels: Kernels) -> None:
    with NullDevice(memory_bytes=1 << 20, memories=2) as other:
        first, second = kernels.device.queue(), other.queue()
        values, back = np.arange(6), np.zeros(6, np.int64)
        a, b = kernels.device.zeros(6, "int64", shards=3), other.zeros(6, "int64", shards=2)
        first.copy_to(a.address, values.data)
        first.copy_from(back.data, a.address)
        second.after(first.event())
        second.copy_to(b.address, back.data)
        second.wait()
        assert b.numpy().tolist() == values.tolist()


def test_data_of_an_image_is_in_every_member(kernels: Kernels) -> None:
    device = kernels.device
    table = device.get_module_data(kernels.module, "table")
    device.memory_copy_to(table.address, np.array([4, 3, 2, 1], np.int64).data)
    out = device.zeros((3, 4), "int64", shards=3)
    device.launch(kernels.read_table, [out])
    assert out.numpy().tolist() == [[4, 3, 2, 1]] * 3


def test_a_failing_member_is_named(asynchronous: Kernels) -> None:
    device = asynchronous.device
    words = device.array(np.array([1, 1, 0], np.int32), shards=3)
    queue = device.queue()
    with pytest.raises(DeviceMemoryError, match="member 0: cannot allocate 1048577 bytes"):
        device.memory_allocate((1 << 20) + 1)
    assert device.memory_info()[0] == words.nbytes
    queue.launch(asynchronous.step, [0, 1])
    with pytest.raises(DeviceFault, match=r"member 0: command 0 .*, launch: kernel 'step'"):
        queue.wait()
    with pytest.raises(DeviceError):
        queue.wait()


def test_a_refused_command_stops_the_queue(kernels: Kernels) -> None:
    queue, seen = kernels.device.queue(), []
    queue.callback(lambda: seen.append(1))
    with pytest.raises(DeviceMemoryError, match="8 bytes at 0x10 are not inside an allocation"):
        queue.copy_to(16, np.zeros(1, np.int64).data)
    event = queue.callback(lambda: seen.append(2))
    for _ in range(2):
        with pytest.raises(DeviceMemoryError, match="8 bytes at 0x10"):
            queue.wait()
    assert (seen, event.done) == ([1], False)


def test_a_set_leaks_nothing() -> None:
    process = psutil.Process()
    with SetOfMppas(MppaOptions(ddr_bytes=1 << 20)) as device:
        Kernels(device, MPPA)
    before = process.num_fds(), len(process.children())
    for _ in range(3):
        with SetOfMppas(MppaOptions(ddr_bytes=1 << 20)) as device:
            kernels = Kernels(device, MPPA)
            assert len(process.children()) == before[1] + MEMORIES
            device.queue().launch(kernels.step, [device.zeros(3, "int64", shards=3), 1])
    assert (process.num_fds(), len(process.children())) == before

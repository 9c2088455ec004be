# SPDX-License-Identifier: Apache-2.0
"""Memory of every target's device: allocation, copies, counts, errors."""

from __future__ import annotations

from collections.abc import Iterator

import ml_dtypes
import numpy as np
import pytest

from tests.unit.device_contract import DEVICES, Kind
from tests.unit.device_contract import kind as kind  # a fixture
from xtc.core.errors import DeviceMemoryError, UserError
from xtc.runtime import DriverDevice

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("collected"),
    pytest.mark.parametrize("kind", DEVICES, indirect=True, ids=str),
]


@pytest.fixture
def device(kind: Kind) -> Iterator[DriverDevice]:
    with kind.make() as opened:
        yield opened


def test_copies_round_trip(device: DriverDevice) -> None:
    data = np.random.default_rng(1).integers(0, 256, 100_001, np.uint8)
    address = device.memory_allocate(data.nbytes)
    back = np.zeros_like(data)
    device.memory_copy_to(address, data.data)
    device.memory_fill_zero(address + 10, 5)
    device.memory_copy_from(back.data, address)
    data[10:15] = 0
    assert np.array_equal(back, data)
    device.memory_copy_from(back.data[:3], address + 7)
    assert np.array_equal(back[:3], data[7:10])
    device.memory_free(address)


def test_fresh_memory_is_poisoned(kind: Kind, device: DriverDevice) -> None:
    if not kind.is_poisoned:
        return
    with device.zeros(1000, "int8"):
        pass
    with device.empty(1000, "int8") as array:
        assert array.numpy().all(), "what was there is gone"


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
def test_fresh_memory_of_simulators_is_nan(kind: Kind, device: DriverDevice, dtype: type) -> None:
    if not kind.shares_memory:
        return
    with device.array(np.zeros(1000, dtype)) as used:
        first = used.address
    with device.empty(1000, dtype) as array:
        assert array.address != first, "freed memory is not used again at once"
        assert np.isnan(array.numpy().astype(np.float64)).all()


def test_memory_is_aligned_and_counted(device: DriverDevice) -> None:
    used, size = device.memory_info()
    addresses = [device.memory_allocate(nbytes) for nbytes in (1, 100, 4096)]
    assert all(address % 64 == 0 for address in addresses)
    assert device.memory_info() == (used + 4197, size)
    for address in addresses:
        device.memory_free(address)
    assert device.memory_info() == (used, size)


def test_memory_is_exhausted_and_released(kind: Kind, device: DriverDevice) -> None:
    if kind.name == "nvgpu:stand-in":
        return  # whose driver reports the size of a GPU without enforcing it
    size = device.memory_info()[1]
    whole = device.memory_allocate(size)
    what = f"{device.device_name}: cannot allocate 1 bytes"
    with pytest.raises(DeviceMemoryError, match=what) as error:
        device.memory_allocate(1)
    assert error.value.notes == (f"0 of {size} bytes are free",)
    device.memory_free(whole)
    nbytes = size // 900
    addresses = [device.memory_allocate(nbytes) for _ in range(800)]
    for address in addresses[::2]:
        device.memory_free(address)
    again = [device.memory_allocate(nbytes) for _ in addresses[::2]]
    assert not set(again) & set(addresses[1::2])
    with pytest.raises(DeviceMemoryError, match=f"cannot allocate {size // 2} bytes"):
        device.memory_allocate(size // 2)


@pytest.mark.parametrize("nbytes", [0, -1, 1 << 63, 1 << 64])
def test_impossible_sizes_are_refused(device: DriverDevice, nbytes: int) -> None:
    with pytest.raises(DeviceMemoryError):
        device.memory_allocate(nbytes)


def test_copies_stay_inside_an_allocation(kind: Kind, device: DriverDevice) -> None:
    data = np.zeros(9, np.uint8)
    address = device.memory_allocate(8)
    neighbor = device.memory_allocate(8)
    inside = f"9 bytes at {address:#x} are not inside an allocation"
    with pytest.raises(DeviceMemoryError, match=inside) as error:
        device.memory_copy_to(address, data.data)
    if kind.shares_memory:
        expected = f"the allocation at {address:#x} has 8 bytes, of which 8 follow"
        assert error.value.notes == (expected,)
    with pytest.raises(DeviceMemoryError, match=inside):
        device.memory_copy_from(data.data, address)
    with pytest.raises(DeviceMemoryError, match=r": 0x[0-9a-f]+ is not inside an allocation"):
        device.memory_fill_zero(address + 8, 1)
    with pytest.raises(DeviceMemoryError):
        device.memory_copy_to(address - 1, data.data[:1])
    with pytest.raises(DeviceMemoryError):
        device.memory_copy_to(2**64 - 1, data.data[:4])
    device.memory_free(address)
    for gone in (address, address + 1, 0):
        with pytest.raises(DeviceMemoryError, match=f"no allocation begins at {gone:#x}"):
            device.memory_free(gone)
    with pytest.raises(DeviceMemoryError):
        device.memory_data_pointer(address)
    assert device.memory_data_pointer(neighbor + 7) == neighbor + 7
    device.memory_free(neighbor)


def test_host_memory_has_to_be_dense_and_writable(device: DriverDevice) -> None:
    with device.zeros(16, "int8") as array:
        with pytest.raises(UserError, match="dense"):
            device.memory_copy_to(array.address, np.zeros((4, 4), np.uint8)[:, :2].data)
        with pytest.raises(UserError, match="read-only"):
            device.memory_copy_from(memoryview(b"1234"), array.address)
        with pytest.raises(UserError, match="needs memory, not str"):
            device.memory_copy_to(array.address, "text")  # type: ignore[arg-type]
        device.memory_copy_to(array.address, memoryview(b""))


def test_two_devices_have_separate_memories(kind: Kind, device: DriverDevice) -> None:
    with kind.make() as other:
        a, b = device.array(np.arange(4)), other.array(np.arange(4) * 10)
        assert (a.numpy().tolist(), b.numpy().tolist()) == ([0, 1, 2, 3], [0, 10, 20, 30])
        other.memory_fill_zero(b.address, 32)
        assert a.numpy().tolist() == [0, 1, 2, 3]

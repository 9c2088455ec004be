# SPDX-License-Identifier: Apache-2.0
"""The simulated MPPA keeps the accelerator's contract: memory, code, arrays, counters, lifetime."""

from __future__ import annotations

import dataclasses
import gc
import threading
from collections.abc import Iterator

import ml_dtypes
import numpy as np
import psutil
import pytest

from tests.unit.mppa_support import Kernels, image, opened
from xtc.core.errors import (
    ArtifactError,
    DeviceLost,
    DeviceMemoryError,
    DeviceNotFound,
    LaunchError,
    UserError,
)
from xtc.interfaces.runtime import AcceleratorDevice
from xtc_targets.mppa.description import COOLIDGE_V2
from xtc_targets.mppa.device import MppaDevice
from xtc_targets.mppa.options import MppaOptions

CLUSTERS = 5


pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("collected")]


@pytest.fixture
def kernels() -> Iterator[Kernels]:
    with opened() as device:
        yield device


def children() -> int:
    return len(psutil.Process().children())


def test_it_opens_at_its_first_use_and_closes_for_good() -> None:
    before = children()
    device = MppaDevice()
    assert (children(), repr(device)) == (before, "<mppa0, not opened>")
    device.memory_allocate(1)
    assert (children(), repr(device)) == (before + 1, "<mppa0, open>")
    device.close()
    device.close()
    assert (children(), repr(device)) == (before, "<mppa0, closed>")
    with pytest.raises(DeviceLost, match="mppa0 is closed"):
        device.memory_allocate(1)


def test_it_says_what_it_is() -> None:
    with MppaDevice(MppaOptions(arch="kv3-1")) as device:
        assert isinstance(device, AcceleratorDevice)
        assert (device.target_name, device.device_name, device.device_id) == ("mppa", "mppa0", 0)
        assert (device.device_arch, device.is_modelled) == ("kv3-1", True)
    assert MppaDevice.detect_accelerator() is None


def test_devices_are_numbered_from_the_lowest_that_is_free() -> None:
    with MppaDevice() as first, MppaDevice() as second:
        assert [first.device_name, second.device_name] == ["mppa0", "mppa1"]
        first.close()
        with MppaDevice() as third:
            assert third.device_name == "mppa0"
            first.init_device()
            assert first.device_name == "mppa2"
            first.close()


def test_a_forgotten_device_ends_with_its_number() -> None:
    before = children()
    device = MppaDevice()
    device.init_device()
    del device
    gc.collect()
    assert children() == before
    assert MppaDevice().device_name == "mppa0"


def test_opening_twice_keeps_what_is_there() -> None:
    with MppaDevice() as device:
        address = device.memory_allocate(8)
        device.init_device()
        assert device.memory_data_pointer(address) == address
        device.close()
        device.init_device()
        assert device.memory_info() == (0, device.options.ddr_bytes)


def test_two_devices_have_memories_of_their_own() -> None:
    with opened() as first, opened() as second:
        a, b = first.device.array(np.arange(4)), second.device.array(np.arange(4) * 10)
        assert a.address == b.address
        first.device.launch(first.step, [a, 3])
        second.device.launch(second.step, [b, 5])
        second.device.launch(second.step, [b, 5])
        assert [a.numpy()[0], b.numpy()[0]] == [1, 6]
        assert [a.numpy()[1], b.numpy()[1]] == [1, 10]


def test_memory_holds_what_is_copied_there(kernels: Kernels) -> None:
    data = np.random.default_rng(1).integers(0, 256, 100_001, np.uint8)
    address = kernels.device.memory_allocate(data.nbytes)
    back = np.zeros_like(data)
    kernels.device.memory_copy_to(address, data.data)
    kernels.device.memory_fill_zero(address + 10, 5)
    kernels.device.memory_copy_from(back.data, address)
    data[10:15] = 0
    assert np.array_equal(back, data)
    kernels.device.memory_copy_from(back.data[:3], address + 7)
    assert np.array_equal(back[:3], data[7:10])
    kernels.device.memory_free(address)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
def test_fresh_memory_holds_no_numbers(kernels: Kernels, dtype: type) -> None:
    with kernels.device.array(np.zeros(1000, dtype)) as used:
        first = used.address
    with kernels.device.empty(1000, dtype) as array:
        assert array.address != first, "freed memory is not used again at once"
        assert np.isnan(array.numpy().astype(np.float64)).all()


def test_memory_is_aligned_and_counted(kernels: Kernels) -> None:
    used, size = kernels.device.memory_info()
    addresses = [kernels.device.memory_allocate(nbytes) for nbytes in (1, 100, 4096)]
    assert all(address % 64 == 0 for address in addresses)
    assert kernels.device.memory_info() == (used + 4197, size)
    for address in addresses:
        kernels.device.memory_free(address)
    assert kernels.device.memory_info() == (used, size)


def test_memory_runs_out_and_comes_back() -> None:
    with MppaDevice(MppaOptions(ddr_bytes=1 << 20)) as device:
        whole = device.memory_allocate(1 << 20)
        with pytest.raises(DeviceMemoryError, match="mppa0: cannot allocate 1 bytes") as error:
            device.memory_allocate(1)
        assert error.value.notes == ("0 of 1048576 bytes are free",)
        device.memory_free(whole)
        parts = [device.memory_allocate(1000) for _ in range(900)]
        for part in parts[::2]:
            device.memory_free(part)
        again = [device.memory_allocate(1000) for _ in range(450)]
        assert not set(again) & set(parts[1::2])
        with pytest.raises(DeviceMemoryError, match="cannot allocate 524288 bytes"):
            device.memory_allocate(1 << 19)


@pytest.mark.parametrize("nbytes", [0, -1, 1 << 63, 1 << 64])
def test_a_size_that_is_none_is_refused(kernels: Kernels, nbytes: int) -> None:
    with pytest.raises(DeviceMemoryError):
        kernels.device.memory_allocate(nbytes)


def test_copies_stay_inside_an_allocation(kernels: Kernels) -> None:
    device, data = kernels.device, np.zeros(9, np.uint8)
    address = device.memory_allocate(8)
    neighbour = device.memory_allocate(8)
    inside = f"9 bytes at {address:#x} are not inside an allocation"
    with pytest.raises(DeviceMemoryError, match=inside) as error:
        device.memory_copy_to(address, data.data)
    expected = f"the allocation at {address:#x} has 8 bytes, of which 8 follow"
    assert error.value.notes == (expected,)
    with pytest.raises(DeviceMemoryError, match=inside):
        device.memory_copy_from(data.data, address)
    with pytest.raises(DeviceMemoryError, match=r"1 bytes at .* not inside"):
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
    assert device.memory_data_pointer(neighbour + 7) == neighbour + 7
    device.memory_free(neighbour)


def test_host_memory_has_to_be_dense_and_writable(kernels: Kernels) -> None:
    with kernels.device.zeros(16, "int8") as array:
        with pytest.raises(UserError, match="dense"):
            kernels.device.memory_copy_to(array.address, np.zeros((4, 4), np.uint8)[:, :2].data)
        with pytest.raises(UserError, match="read-only"):
            kernels.device.memory_copy_from(memoryview(b"1234"), array.address)
        with pytest.raises(UserError, match="takes memory, not str"):
            kernels.device.memory_copy_to(array.address, "text")  # type: ignore[arg-type]
        kernels.device.memory_copy_to(array.address, memoryview(b""))


def test_a_kernel_computes_on_all_clusters_and_pes(kernels: Kernels) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random((80, 64), np.float32), rng.random((64, 64), np.float32)
    with kernels.device.empty((80, 64), np.float32) as c:
        kernels.device.launch(kernels.matmul, [kernels.device.array(a), kernels.device.array(b), c])
        np.testing.assert_allclose(c.numpy(), a @ b, rtol=1e-5)


@pytest.mark.parametrize(("clusters", "pes"), [(1, 1), (2, 16), (5, 4)])
def test_a_part_of_the_machine_runs_kernels(clusters: int, pes: int) -> None:
    with opened(clusters=clusters, pes=pes) as kernels:
        out = kernels.device.array(np.full(80, -1, np.int32))
        kernels.device.launch(kernels.places, [out, pes])
        expected = np.full((5, 16), -1)
        expected[:clusters, :pes] = np.arange(clusters)[:, None] * 100 + np.arange(pes)
        assert np.array_equal(out.numpy().reshape(5, 16), expected)


def test_smem_holds_nothing_of_earlier_kernels(kernels: Kernels) -> None:
    with kernels.device.zeros(CLUSTERS, np.float32) as out:
        for _ in range(2):
            kernels.device.launch(kernels.smem_at_start, [out])
            assert np.isnan(out.numpy()).all()


def test_dma_gathers_rows(kernels: Kernels) -> None:
    data = np.arange(700).astype(np.int8)
    source, out = kernels.device.array(data), kernels.device.zeros((7, 13), "int8")
    kernels.device.launch(kernels.gather, [out, source.address + 3, 13, 7, 91])
    expected = [data[3 + row * 91 : 16 + row * 91] for row in range(7)]
    assert np.array_equal(out.numpy(), expected)


def test_code_is_loaded_and_found_by_name(kernels: Kernels) -> None:
    device = kernels.device
    for name in ("nothing", "not_a_function", "printf", "x" * 600):
        with pytest.raises(LaunchError):
            device.get_module_function(kernels.module, name)
    with pytest.raises(LaunchError, match="mppa0: the module has no function 'nothing'"):
        device.get_module_function(kernels.module, "nothing")
    with pytest.raises(ArtifactError, match="image cannot be loaded"):
        device.load_module(b"no machine code")
    with pytest.raises(ArtifactError, match="0 bytes"):
        device.load_module(b"")
    with pytest.raises(LaunchError, match="is not a device function"):
        device.launch("matmul")


def test_unloaded_code_does_not_run(kernels: Kernels) -> None:
    device = kernels.device
    for _ in range(3):
        module = device.load_module(image())
        function = device.get_module_function(module, "empty")
        device.launch(function)
        device.unload_module(module)
        device.unload_module(module)
        with pytest.raises(LaunchError, match="not loaded on mppa0"):
            device.launch(function)
        with pytest.raises(LaunchError, match="not loaded on mppa0"):
            device.get_module_function(module, "empty")
    device.launch(kernels.empty)


def test_code_belongs_to_its_device(kernels: Kernels) -> None:
    with MppaDevice() as other, pytest.raises(LaunchError, match="not loaded on mppa1"):
        other.launch(kernels.empty)


def test_arguments_are_words(kernels: Kernels) -> None:
    with kernels.device.array(np.array([5])) as out:
        kernels.device.launch(kernels.step, [out, -2])
        assert out.numpy()[0] == -9
        kernels.device.launch(kernels.step, [out.address, np.int8(3)])
        assert out.numpy()[0] == -26
        for wrong in ("x", None, 2**64, -(2**63) - 1):
            with pytest.raises(UserError):
                kernels.device.launch(kernels.step, [out, wrong])
        with pytest.raises(LaunchError, match="64 arguments at most, not 65"):
            kernels.device.launch(kernels.step, [0] * 65)


def test_a_machine_may_be_made_up() -> None:
    machine = dataclasses.replace(COOLIDGE_V2, dma_alignment=16, smem_bytes=1 << 20)
    with MppaDevice(machine=machine) as device:
        assert device.machine.smem_bytes == 1 << 20
        kernels = Kernels(device)
        out, source = device.zeros(64, "int8"), device.zeros(64, "int8")
        device.launch(kernels.gather, [out, source, 16, 2, 32])


def test_a_compiler_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from xtc.runtime import built_driver

    monkeypatch.setenv("XTC_CC", "no-such-compiler")
    monkeypatch.setenv("XTC_CACHE", "0")
    built_driver.cache_clear()
    try:
        with pytest.raises(DeviceNotFound, match="needs the program 'no-such-compiler'") as error:
            MppaDevice().init_device()
    finally:
        built_driver.cache_clear()
    assert "XTC_CC" in str(error.value)


def test_threads_share_a_device() -> None:
    with opened() as kernels:
        results: list[bool] = []

        def work(number: int) -> None:
            mine = kernels.device.array(np.array([number]))
            for _ in range(50):
                kernels.device.launch(kernels.step, [mine, 1])
            results.append(mine.numpy()[0] == number + 50)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results == [True] * 4
        assert kernels.device.counters()["mppa.LAUNCHES.cluster.0.pe.0"] == 200

# SPDX-License-Identifier: Apache-2.0
"""The simulated MPPA beyond the contract of devices: clusters, PEs, local memory, DMA."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator

import numpy as np
import psutil
import pytest

from tests.unit.mppa_support import Kernels, opened
from xtc.core.errors import (
    DeviceMemoryError,
    DeviceNotFound,
    LaunchError,
    UserError,
)
from xtc_targets.mppa.description import COOLIDGE_V2
from xtc_targets.mppa.device import MppaDevice
from xtc_targets.mppa.options import MppaOptions

CLUSTERS = 5


pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("collected")]


@pytest.fixture
def kernels() -> Iterator[Kernels]:
    with opened() as device:
        yield device


def test_a_kernel_computes_on_all_clusters_and_pes(kernels: Kernels) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random((80, 64), np.float32), rng.random((64, 64), np.float32)
    with kernels.device.empty((80, 64), np.float32) as c:
        kernels.device.launch(kernels.matmul, [kernels.device.array(a), kernels.device.array(b), c])
        np.testing.assert_allclose(c.numpy(), a @ b, rtol=1e-5)


@pytest.mark.parametrize(("clusters", "pes"), [(1, 1), (2, 16), (5, 4)])
def test_a_subset_of_the_machine_runs_kernels(clusters: int, pes: int) -> None:
    with opened(clusters=clusters, pes=pes) as kernels:
        out = kernels.device.array(np.full(80, -1, np.int32))
        kernels.device.launch(kernels.places, [out, pes])
        expected = np.full((5, 16), -1)
        expected[:clusters, :pes] = np.arange(clusters)[:, None] * 100 + np.arange(pes)
        assert np.array_equal(out.numpy().reshape(5, 16), expected)


def test_smem_is_poisoned_between_kernels(kernels: Kernels) -> None:
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


def test_arguments_have_64_bits(kernels: Kernels) -> None:
    with kernels.device.array(np.array([5])) as out:
        kernels.device.launch(kernels.step, [out, -2])
        assert out.numpy()[0] == -9
        kernels.device.launch(kernels.step, [out.address, np.int8(3)])
        assert out.numpy()[0] == -26
        for wrong in ("x", None, 2**64, -(2**63) - 1):
            with pytest.raises(UserError):
                kernels.device.launch(kernels.step, [out, wrong])
        with pytest.raises(LaunchError, match="at most 64 arguments, not 65"):
            kernels.device.launch(kernels.step, [0] * 65)


def test_a_machine_may_be_hypothetical() -> None:
    machine = dataclasses.replace(COOLIDGE_V2, dma_alignment=16, smem_bytes=1 << 20)
    with MppaDevice(machine=machine) as device:
        assert device.machine.smem_bytes == 1 << 20
        kernels = Kernels(device)
        out, source = device.zeros(64, "int8"), device.zeros(64, "int8")
        device.launch(kernels.gather, [out, source, 16, 2, 32])


def test_a_missing_compiler_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_freed_memory_is_returned_to_the_system(kernels: Kernels) -> None:
    device = kernels.device

    def resident() -> int:
        return sum(
            mapping.rss
            for mapping in psutil.Process().memory_maps(False)
            if "simulated" in mapping.path
        )

    address = device.memory_allocate(64 << 20)
    assert resident() >= 64 << 20
    device.memory_free(address)
    assert resident() < 8 << 20


def test_unused_device_memory_takes_no_host_memory() -> None:
    with MppaDevice(MppaOptions(ddr_bytes=64 << 30)) as device:
        with pytest.raises(DeviceMemoryError, match="cannot allocate"):
            device.memory_allocate(1 << 62)
        first = device.memory_allocate(1 << 20)
        assert device.memory_info() == (1 << 20, 64 << 30)
        assert device.memory_data_pointer(first) == first

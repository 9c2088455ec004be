# SPDX-License-Identifier: Apache-2.0
"""A kernel that exceeds its time limit ends the wait, and later calls do not wait. The driver is a
stand-in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.nvgpu_stand_in import kernel_code, log, stand_in
from tests.unit.nvgpu_support import Kernels
from xtc.core.errors import DeviceLost, DeviceNotFound, DeviceTimeout
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("collected")]

ENDLESS = "cuEventQuery=600"  # CUDA_ERROR_NOT_READY
RELEASED = "release 40: 0 streams, 0 events, 0 modules, 0 allocations"
SAID = "nvgpu0: kernel 'scale': it ran for more than 0.05 s"


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return stand_in(tmp_path, monkeypatch)


@pytest.fixture
def device(library: Path) -> Iterator[NvgpuDevice]:
    with NvgpuDevice(NvgpuOptions("hw", driver_library=library, timeout_s=0.05)) as gpu:
        yield gpu


def run_into_the_limit(device: NvgpuDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    values, scale = device.zeros(4, "int32"), Kernels(device, kernel_code()).scale
    monkeypatch.setenv("STAND_IN_FAILS", ENDLESS)
    with pytest.raises(DeviceTimeout) as error:
        device.launch(scale, [values, 4, 2])
    assert str(error.value) == (f"{SAID}\n  note: the GPU runs it until it or this process ends")


def test_an_endless_kernel_raises_device_lost(
    device: NvgpuDevice, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_into_the_limit(device, monkeypatch)
    with pytest.raises(
        DeviceLost, match=r"^nvgpu0: the device has stopped: kernel 'scale': it ran"
    ):
        device.memory_allocate(4)
    with pytest.raises(DeviceNotFound) as error:
        device.init_device()
    assert error.value.what == (
        "the GPU still runs a kernel over its time limit: "
        "kernel 'scale': it ran for more than 0.05 s"
    )
    assert not any(line.startswith("release") for line in log(library))
    monkeypatch.delenv("STAND_IN_FAILS")
    device.init_device()


def test_a_late_kernel_leaks_nothing(
    device: NvgpuDevice, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_into_the_limit(device, monkeypatch)
    monkeypatch.delenv("STAND_IN_FAILS")
    device.init_device()
    assert log(library)[-2:] == [RELEASED, "retain 40"]
    assert device.zeros(2, "int32").numpy().tolist() == [0, 0]


def test_an_abandoned_device_is_released_by_the_next_one(
    library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = NvgpuOptions("hw", driver_library=library, timeout_s=0.05)
    with NvgpuDevice(config) as device:
        run_into_the_limit(device, monkeypatch)
    assert not any(line.startswith("release") for line in log(library))
    with pytest.raises(DeviceNotFound, match="the GPU still runs a kernel over its time limit"):
        NvgpuDevice(config).init_device()
    monkeypatch.delenv("STAND_IN_FAILS")
    with NvgpuDevice(config) as device:
        device.init_device()
        assert [line for line in log(library) if re.match("release|retain", line)] == [
            "retain 40",
            RELEASED,
            "retain 40",
        ]
        assert device.zeros(2, "int32").numpy().tolist() == [0, 0]


def test_the_time_limit_applies_to_each_kernel(device: NvgpuDevice) -> None:
    values, scale = device.zeros(4, "int32"), Kernels(device, kernel_code()).scale
    for _ in range(200):
        device.launch(scale, [values, 4, 2])

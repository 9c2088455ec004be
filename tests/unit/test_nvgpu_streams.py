# SPDX-License-Identifier: Apache-2.0
"""Launches in streams of other libraries, and times by the device's clock.

The driver is a stand-in, whose clock advances with launches.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.nvgpu_stand_in import kernel_code, log, stand_in
from tests.unit.nvgpu_support import Kernels
from tests.unit.test_nvgpu_arrays import Library
from xtc.core.errors import DeviceFault, DeviceLost, LaunchError
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("collected")]


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return stand_in(tmp_path, monkeypatch)


@pytest.fixture
def kernels(library: Path) -> Iterator[Kernels]:
    with NvgpuDevice(NvgpuOptions("hw", driver_library=library)) as device:
        yield Kernels(device, kernel_code())


def noted(library: Path, count: int) -> list[str]:
    return log(library)[-count:]


def test_a_simulator_has_no_times() -> None:
    with NvgpuDevice() as device:
        assert device.streams is None
        assert device.callers_streams([np.zeros(1)]) == ()
        assert device.device_chip == "sm_90a"


def test_launches_are_timed_by_the_device(kernels: Kernels, library: Path) -> None:
    device, scale = kernels.device, kernels.scale
    streams: Any = device.streams
    values = device.array(np.arange(4, dtype=np.int32))
    before = device.counters()["nvgpu.LAUNCHES"]
    marks = [streams.mark(0)]
    for _ in range(2):
        streams.launch(0, scale, [values, 4, 2])
        marks.append(streams.mark(0))
    launch = "launch 4,2,1 64,1,1 0 kernels"
    assert noted(library, 5) == ["mark kernels", launch, "mark kernels", launch, "mark kernels"]
    # 8 blocks of 64 threads
    assert streams.seconds(marks[0], marks[1]) == pytest.approx(4e-6)
    assert streams.seconds(marks[0], marks[2]) == pytest.approx(8e-6)
    assert values.numpy().tolist() == [0, 4, 8, 12]
    assert device.counters()["nvgpu.LAUNCHES"] == before + 2
    del marks
    gc.collect()
    device.close()
    assert noted(library, 1) == ["release 40: 0 streams, 0 events, 0 modules, 0 allocations"]


def test_live_events_are_released_with_their_device(kernels: Kernels, library: Path) -> None:
    streams: Any = kernels.device.streams
    mark = streams.mark(0)
    kernels.device.close()
    assert noted(library, 1) == ["release 40: 0 streams, 0 events, 0 modules, 0 allocations"]
    with pytest.raises(DeviceLost, match="the device is closed"):
        streams.seconds(mark, mark)
    del mark
    gc.collect()


def test_foreign_streams_are_used_in_order(kernels: Kernels, library: Path) -> None:
    streams: Any = kernels.device.streams
    values = kernels.device.zeros(4, "int32")
    streams.fill_zero(7, values.address, 16)
    streams.after(7, 9)
    streams.launch(7, kernels.scale, [values, 4, 2], grid=(3,))
    streams.wait(7)
    assert [line for line in log(library) if "stream" in line][:5] == [
        "fill 0 16 stream 7",
        "record stream 9",
        "follow stream 7",
        "launch 3,1,1 64,1,1 0 stream 7",
        "mark stream 7",
    ]


@pytest.mark.parametrize(
    ("call", "fails", "error", "what"),
    [
        ("launch", "cuLaunchKernel=701", LaunchError, "kernel 'scale' or a kernel before it: CUDA"),
        ("launch", "cuLaunchKernel=700", DeviceFault, "kernel 'scale' or a kernel before it: CUDA"),
        ("seconds", "cuEventQuery=700", DeviceFault, "the measured work: CUDA_ERROR_ILLEGAL_ADDR"),
        ("seconds", "cuEventElapsedTime=700", DeviceFault, "the measured work: CUDA_ERROR_ILLEG"),
    ],
)
def test_failures_in_a_stream_are_errors(
    kernels: Kernels, monkeypatch: pytest.MonkeyPatch, call: str, fails: str, error: Any, what: str
) -> None:
    device, scale = kernels.device, kernels.scale
    streams: Any = device.streams
    values, mark = device.zeros(4, "int32"), streams.mark(0)
    monkeypatch.setenv("STAND_IN_FAILS", fails)
    arguments = (5, scale, [values, 4, 2]) if call == "launch" else (mark, mark)
    with pytest.raises(error, match=what):
        getattr(streams, call)(*arguments)
    monkeypatch.delenv("STAND_IN_FAILS")
    if error is DeviceFault:
        with pytest.raises(DeviceLost, match=what):
            streams.launch(5, scale, [values, 4, 2])
    else:
        streams.launch(5, scale, [values, 4, 2])


def test_wrong_launches_are_refused_before_the_stream(kernels: Kernels, library: Path) -> None:
    streams: Any = kernels.device.streams
    with pytest.raises(LaunchError, match="kernel 'scale' takes 3 arguments, not 1"):
        streams.launch(7, kernels.scale, [1])
    assert not any("stream 7" in line for line in log(library))


def test_memory_ordered_by_a_stream_is_not_awaited(kernels: Kernels, library: Path) -> None:
    device = kernels.device
    tensor = Library(library).tensor(np.arange(6, dtype=np.int32))
    assert device.borrowed(tensor, 7) is not None
    assert "wait for all" not in log(library)
    assert device.borrowed(tensor) is not None
    assert "wait for all" in log(library)


def test_a_gpu_has_the_name_of_its_driver(kernels: Kernels) -> None:
    assert kernels.device.device_chip == "stand-in 0"

# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's driver is called as documented, and its error codes become typed errors. The driver is a
stand-in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.unit.nvgpu_stand_in import built, kernel_code, log, stand_in
from tests.unit.nvgpu_support import Kernels
from xtc.core.errors import (
    ArtifactError,
    DeviceError,
    DeviceFault,
    DeviceLost,
    DeviceMemoryError,
    DeviceNotFound,
    DeviceTimeout,
    LaunchError,
    UserError,
)
from xtc_targets.nvgpu.device import NvgpuDevice
from xtc_targets.nvgpu.hardware import capabilities, first_gpu, unavailable
from xtc_targets.nvgpu.options import NvgpuOptions

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("collected")]


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return stand_in(tmp_path, monkeypatch)


@pytest.fixture
def config(library: Path) -> NvgpuOptions:
    return NvgpuOptions(platform="hw", driver_library=library)


@pytest.fixture
def device(config: NvgpuOptions) -> Iterator[NvgpuDevice]:
    with NvgpuDevice(config) as gpu:
        yield gpu


@pytest.fixture
def kernels(device: NvgpuDevice) -> Kernels:
    return Kernels(device, kernel_code())


def test_a_kernel_runs_between_copies(kernels: Kernels, library: Path) -> None:
    device = kernels.device
    values = device.array(np.arange(6, dtype=np.int32))
    device.launch(kernels.scale, [values, 5, -3])
    assert values.numpy().tolist() == [0, -3, -6, -9, -12, 5]
    assert not device.is_modelled
    device.close()
    assert log(library) == [
        "retain 40",
        "copy_to 24 copies",
        "copy_from 32 copies",  # the kernel's grid and block
        "launch 4,2,1 64,1,1 0 kernels",
        "copy_from 24 copies",
        "release 40: 0 streams, 0 events, 0 modules, 0 allocations",
    ]


def test_copies_and_launches_are_counted(kernels: Kernels) -> None:
    device = kernels.device
    values = device.array(np.ones(4, np.int32))
    for _ in range(3):
        device.launch(kernels.scale, [values, 4, 2])
    assert values.numpy().tolist() == [8] * 4
    counted = {
        "H2D_BYTES": 16,
        "H2D_COPIES": 1,
        "D2H_BYTES": 16,
        "D2D_BYTES": 0,
        "LAUNCHES": 3,
        "BLOCKS": 3 * 8,
        "THREADS": 3 * 8 * 64,
    }
    counters = device.counters()
    assert {name: counters[f"nvgpu.{name}"] for name in counted} == counted
    assert not any(name.startswith("modelled.") for name in counters)


def test_queues_keep_many_kernels_in_flight(kernels: Kernels) -> None:
    device = kernels.device
    values = device.array(np.ones(1, np.int32))
    queue, scale, out = device.queue(), kernels.scale, np.zeros(1, np.int32)
    for _ in range(150):
        queue.launch(scale, [values, 1, -1])
    queue.copy_from(out.data, values.address)
    queue.wait()
    assert out[0] == 1


def test_memory_is_filled_copied_and_counted(device: NvgpuDevice, library: Path) -> None:
    values = device.zeros(8, "int32")
    assert device.memory_info() == (32, 40 << 30)
    other = device.array(np.arange(8, dtype=np.int32))
    queue = device.queue()
    queue.copy_within(values.address + 16, other.address, 16)
    queue.wait()
    assert values.numpy().tolist() == [0, 0, 0, 0, 0, 1, 2, 3]
    assert {"fill 0 32 copies", "copy_within 16 copies"} < set(log(library))


def test_bytes_outside_an_allocation_are_not_touched(device: NvgpuDevice) -> None:
    address = device.memory_allocate(64)
    data = np.zeros(16, np.int32)
    for wrong in (address - 4, address + 4):
        with pytest.raises(DeviceMemoryError, match=f"64 bytes at {wrong:#x} are not inside"):
            device.memory_copy_to(wrong, data.data)
        with pytest.raises(DeviceMemoryError, match=f"64 bytes at {wrong:#x} are not inside"):
            device.memory_copy_from(data.data, wrong)
    with pytest.raises(DeviceMemoryError, match="no allocation begins at"):
        device.memory_free(address + 4)
    device.memory_free(address)
    with pytest.raises(DeviceMemoryError, match="no allocation begins at"):
        device.memory_free(address)
    with pytest.raises(DeviceMemoryError, match="CUDA_ERROR_OUT_OF_MEMORY"):
        device.memory_allocate(1 << 31)
    with pytest.raises(DeviceMemoryError, match="cannot allocate 0 bytes"):
        device.memory_allocate(0)
    assert device.memory_info()[0] == 0


def test_dynamic_shared_memory_is_requested(kernels: Kernels, library: Path) -> None:
    kernels.device.launch(kernels.shared)
    assert log(library)[-2:] == ["attribute 8=100000", "launch 1,1,1 32,4,1 100000 kernels"]


def test_a_launch_encodes_maps_of_its_arguments(kernels: Kernels, library: Path) -> None:
    device = kernels.device
    said, values = device.zeros(128, "uint8"), device.zeros((41, 24), "int16")
    device.launch(kernels.mapped, [said, values])
    assert bytes(said.numpy()).rstrip(b"\0") == b"type 6 swizzle 1"
    noted = [line for line in log(library) if line.startswith("map")]
    assert noted == ["map type 6 rank 2 size 24,40 box 16,8 swizzle 1"]


def test_a_map_refused_by_the_driver_is_reported(
    kernels: Kernels, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = kernels.device
    function, memory = kernels.mapped, device.zeros(128, "uint8")
    monkeypatch.setenv("STAND_IN_FAILS", "cuTensorMapEncodeTiled=1")
    with pytest.raises(LaunchError, match="encoding a tensor map: CUDA_ERROR_INVALID_VALUE"):
        device.launch(function, [memory, memory])
    monkeypatch.setenv("STAND_IN_FAILS", "")
    device.launch(function, [memory, memory])


def test_a_launch_sets_the_cluster_size(kernels: Kernels, library: Path) -> None:
    device = kernels.device
    values = device.array(np.arange(6, dtype=np.int32))
    device.launch(kernels.scale, [values, 5, -3], cluster=[2, 1])
    device.launch(kernels.scale, [values, 5, 2], grid=[6, 4], cluster=(3, 2))
    queue = device.queue()
    queue.launch(kernels.scale, [values, 1, 1], cluster=[4])
    queue.wait()
    assert values.numpy().tolist() == [0, -6, -12, -18, -24, 5]
    noted = [line for line in log(library) if line.startswith(("launch", "cluster"))]
    assert noted == [
        "cluster 2,1,1",
        "launch 4,2,1 64,1,1 0 kernels",
        "cluster 3,2,1",
        "launch 6,4,1 64,1,1 0 kernels",
        "cluster 4,1,1",
        "launch 4,2,1 64,1,1 0 kernels",
    ]


def test_invalid_clusters_are_refused(kernels: Kernels) -> None:
    device = kernels.device
    values = device.array(np.arange(6, dtype=np.int32))
    given = [values, 5, 1]
    with pytest.raises(LaunchError, match="'scale' has a grid of 4 blocks in x, and clusters of 3"):
        device.launch(kernels.scale, given, cluster=[3])
    with pytest.raises(LaunchError, match="kernel 'scale': CUDA_ERROR_INVALID_CLUSTER_SIZE"):
        device.launch(kernels.scale, given, grid=[16], cluster=[16])
    with pytest.raises(UserError, match=r"\(0,\) is not a cluster"):
        device.launch(kernels.scale, given, cluster=[0])
    device.launch(kernels.scale, given, cluster=[2])


def test_kernels_that_do_not_fit_are_refused(kernels: Kernels) -> None:
    device = kernels.device
    with pytest.raises(LaunchError, match="'nothing': CUDA_ERROR_NOT_FOUND"):
        device.get_module_function(kernels.module, "nothing")
    with pytest.raises(LaunchError, match="'shapeless_launch': CUDA_ERROR_NOT_FOUND"):
        device.get_module_function(kernels.module, "shapeless")
    with pytest.raises(ArtifactError, match="'odd_launch' has 28 bytes, not 32"):
        device.get_module_function(kernels.module, "odd")
    with pytest.raises(ArtifactError, match="wide has 65 parameters; 64 is the limit"):
        device.get_module_function(kernels.module, "wide")
    with pytest.raises(LaunchError, match="kernel 'scale' takes 3 arguments, not 1"):
        device.launch(kernels.scale, [0])
    device.unload_module(kernels.module)
    with pytest.raises(LaunchError, match="the module is not loaded"):
        device.get_module_function(kernels.module, "scale")


def test_errors_quote_the_driver(device: NvgpuDevice) -> None:
    with pytest.raises(ArtifactError, match="loading device code: CUDA_ERROR_INVALID_PTX") as error:
        device.load_module(b".version 9.9\n")
    assert error.value.notes[-1] == "ptxas: line 1: no such instruction"
    with pytest.raises(ArtifactError, match="CUDA_ERROR_INVALID_IMAGE"):
        device.load_module(b"nonsense")
    with pytest.raises(ArtifactError, match="CUDA_ERROR_INVALID_IMAGE") as error:
        device.load_module(b"\x50\xed\x55\xba" + bytes(60))
    assert error.value.notes[-1] == (
        "the driver may be too old for this code: with cubins='none' it assembles PTX itself"
    )


@pytest.mark.parametrize(
    ("fails", "error", "what"),
    [
        ("cuEventQuery=700", DeviceFault, "kernel 'scale': CUDA_ERROR_ILLEGAL_ADDRESS"),
        ("cuEventQuery=716", DeviceFault, "kernel 'scale': CUDA_ERROR_MISALIGNED_ADDRESS"),
        ("cuEventQuery=702", DeviceTimeout, "kernel 'scale': CUDA_ERROR_LAUNCH_TIMEOUT"),
        ("cuEventQuery=214", DeviceLost, "kernel 'scale': CUDA_ERROR_ECC_UNCORRECTABLE"),
        ("cuEventQuery=226", DeviceLost, "kernel 'scale': CUDA error 226"),
        ("cuEventSynchronize=911", DeviceLost, "kernel 'scale': CUDA error 911"),
        ("cuEventQuery=12345", DeviceFault, "kernel 'scale': CUDA error 12345"),
    ],
)
def test_a_failed_kernel_ends_the_device_with_its_name(
    kernels: Kernels,
    fails: str,
    error: type[DeviceError],
    what: str,
    monkeypatch: pytest.MonkeyPatch,
    library: Path,
) -> None:
    device = kernels.device
    values, scale = device.zeros(4, "int32"), kernels.scale
    monkeypatch.setenv("STAND_IN_FAILS", fails)
    with pytest.raises(error, match=f"^nvgpu0: {what}"):
        device.launch(scale, [values, 4, 2])
    with pytest.raises(DeviceLost, match=f"the device has stopped: {what}"):
        device.memory_allocate(4)
    monkeypatch.delenv("STAND_IN_FAILS")
    device.init_device()
    assert device.zeros(2, "int32").numpy().tolist() == [0, 0]
    assert "release 40: 0 streams, 0 events, 0 modules, 0 allocations" in log(library)


def test_text_that_kernels_print_is_written_when_they_end(kernels: Kernels, library: Path) -> None:
    """NVIDIA's driver writes it in a call that waits; a query of an event does not."""
    Path(f"{library.parent / 'log'}.grids").write_text("print 6\n")
    values = kernels.device.zeros(4, "int32")
    kernels.device.launch(kernels.scale, [values, 4, 2], grid=[6])
    assert log(library)[-1] == "printed text"


@pytest.mark.parametrize("number", [1, 701])
def test_a_refused_launch_keeps_the_device_open(
    kernels: Kernels, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = kernels.device
    values, scale = device.zeros(4, "int32"), kernels.scale
    monkeypatch.setenv("STAND_IN_FAILS", f"cuLaunchKernel={number}")
    with pytest.raises(LaunchError, match="kernel 'scale': CUDA_ERROR_"):
        device.launch(scale, [values, 4, 2])
    monkeypatch.delenv("STAND_IN_FAILS")
    device.launch(scale, [values, 4, 2])


def refused(config: NvgpuOptions) -> DeviceNotFound:
    with pytest.raises(DeviceNotFound) as error:
        NvgpuDevice(config).memory_allocate(1)
    return error.value


def test_a_missing_driver_is_named() -> None:
    error = refused(NvgpuOptions(platform="hw", driver_library="libcuda-that-is-not.so.1"))
    assert "NVIDIA's driver cannot be loaded: libcuda-that-is-not.so.1" in error.what
    assert error.hints == ("platform='sim' needs no GPU",)


def test_a_driver_without_a_function_is_too_old(tmp_path: Path) -> None:
    path = built("kernels", tmp_path)
    error = refused(NvgpuOptions(platform="hw", driver_library=path))
    assert "has no function cuInit" in error.what
    assert error.notes == ("it is too old: CUDA 11.0 is needed",)


@pytest.mark.parametrize(
    ("fails", "what"),
    [
        ("cuInit=100", "cuInit: CUDA_ERROR_NO_DEVICE"),
        ("cuDeviceGetCount=100", "cuDeviceGetCount: CUDA_ERROR_NO_DEVICE"),
        ("cuDeviceGetAttribute=1", "cuDeviceGetAttribute: CUDA_ERROR_INVALID_VALUE"),
        ("cuDevicePrimaryCtxRetain=2", "cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY"),
        ("cuEventCreate=2", "the device's streams: CUDA_ERROR_OUT_OF_MEMORY"),
    ],
)
def test_a_gpu_that_cannot_be_opened_is_explained(
    config: NvgpuOptions, fails: str, what: str, monkeypatch: pytest.MonkeyPatch, library: Path
) -> None:
    monkeypatch.setenv("STAND_IN_FAILS", fails)
    assert what in refused(config).what
    if fails.startswith("cuEvent"):
        left = "0 streams, 0 events, 0 modules, 0 allocations"
        assert log(library) == ["retain 40", f"release 40: {left}"]


@pytest.mark.parametrize(
    ("number", "arch", "what"),
    [
        (2, "sm_80", "there is no GPU 2: the driver shows 2"),
        (1, "sm_90a", "GPU 1 has compute capability 8.6, and code for sm_90a needs 9.0"),
    ],
)
def test_a_gpu_that_cannot_run_the_code_is_refused(
    library: Path, number: int, arch: str, what: str
) -> None:
    config = NvgpuOptions(platform="hw", arch=arch, device_index=number, driver_library=library)
    assert refused(config).what == what


@pytest.mark.parametrize("number", [0, 1])
def test_newer_gpus_run_code_for_older_ones(library: Path, number: int) -> None:
    config = NvgpuOptions(platform="hw", arch="sm_80", device_index=number, driver_library=library)
    with NvgpuDevice(config) as device:
        assert device.zeros(1, "int32").numpy().tolist() == [0]


def test_the_best_architecture_for_a_gpu_is_chosen(
    library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert capabilities(library) == [(9, 0), (8, 6)]
    assert first_gpu(library) == NvgpuOptions("hw", "sm_90a", 0, library, sms=114)
    assert unavailable(library) is None
    monkeypatch.setenv("STAND_IN_FIRST_GPU", "75")
    assert first_gpu(library) == NvgpuOptions("hw", "sm_86", 1, library, sms=84)
    monkeypatch.setenv("STAND_IN_FAILS", "cuInit=100")
    assert unavailable(library) == ("no GPU of compute capability 8.0 or later; found: none")


def test_a_machine_without_a_driver_has_no_gpu() -> None:
    reason = unavailable("libcuda-that-is-not.so.1")
    assert reason is not None
    assert reason.startswith("NVIDIA's driver cannot be loaded: libcuda-that-is-not.so.1")

# SPDX-License-Identifier: Apache-2.0
"""The simulated GPU satisfies the device contract: memory, code, queues, counters, lifetime."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
import pytest

from tests.unit.nvgpu_support import Kernels, opened
from xtc.core.errors import (
    ArtifactError,
    DeviceMemoryError,
    UserError,
)
from xtc.interfaces.runtime import AcceleratorDevice
from xtc_targets.nvgpu.description import A100, H100, MACHINES, RTX3090, RTX4090
from xtc_targets.nvgpu.device import NvgpuDevice
from xtc_targets.nvgpu.options import NvgpuOptions

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("collected")]


@pytest.fixture
def kernels() -> Iterator[Kernels]:
    with opened() as device:
        yield device


def test_a_device_has_name_target_and_number() -> None:
    with NvgpuDevice(NvgpuOptions(arch="sm_80")) as device:
        assert isinstance(device, AcceleratorDevice)
        assert (device.target_name, device.device_name, device.device_id) == ("nvgpu", "nvgpu0", 0)
        assert (device.device_arch, device.is_modelled) == ("sm_80", True)
    assert NvgpuDevice.detect_accelerator() is None
    with pytest.raises(UserError, match="an NvgpuDevice takes NvgpuOptions, not 'sm_80'"):
        NvgpuDevice("sm_80")  # type: ignore[arg-type]


def test_memory_has_the_configured_size(kernels: Kernels) -> None:
    device = kernels.device
    address = device.memory_allocate(1 << 20)
    assert device.memory_info() == (1 << 20, 1 << 30)
    assert address >= H100.global_address
    with pytest.raises(DeviceMemoryError, match="cannot allocate"):
        device.memory_allocate(1 << 31)
    device.memory_free(address)
    with pytest.raises(DeviceMemoryError, match="no allocation begins at"):
        device.memory_free(address)
    assert device.memory_info()[0] == 0


def test_events_are_counted_exactly() -> None:
    with opened() as kernels:
        device = kernels.device
        ones = [device.array(np.ones(n, np.float16)) for n in (32 * 64, 64 * 16)]
        product = device.zeros((32, 16), "float32")
        device.launch(kernels.matmul_f16, [*ones, product])
        device.launch(kernels.reduce, [device.zeros(640, "float32"), device.zeros(5, "float32")])
        assert (product.numpy() == 64).all()
        counters = device.counters()
        copied = (32 + 16) * 64 * 2
        warps, steps = 2, 4
        expected = {
            "LAUNCHES": 2,
            "BLOCKS": 1 + 5,
            "THREADS": 64 + 5 * 128,
            "BARRIERS": 1 + 5,
            "WARP_SYNCS": 0,
            "SHUFFLES": 5 * 5 * (4 + 1),
            "ASYNC_COPIES": copied // 16,
            "ASYNC_COPY_BYTES": copied,
            "GLOBAL_READS": 640,
            "GLOBAL_READ_BYTES": copied + 640 * 4,
            "GLOBAL_WRITES": 32 * 16 + 5,
            "GLOBAL_WRITE_BYTES": (32 * 16 + 5) * 4,
            "SHARED_READS": 5 * 4,
            "SHARED_WRITES": 5 * 4,
            "SHARED_WRITE_BYTES": copied + 5 * 4 * 4,
            "LOADED_MATRICES": warps * steps * 2 * 4,
            "SHARED_READ_BYTES": warps * steps * 2 * 4 * 128 + 5 * 4 * 4,
            "STORED_MATRICES": 0,
            "MMA_F16": warps * steps * 2,
            "MMA_F16_MACS": 32 * 16 * 64,
            "MMA_BF16": 0,
            "H2D_BYTES": copied,
            "H2D_COPIES": 2,
            "D2H_BYTES": 32 * 16 * 4,
        }
        assert {name: counters[f"nvgpu.{name}"] for name in expected} == expected
        memory_bytes = expected["GLOBAL_READ_BYTES"] + expected["GLOBAL_WRITE_BYTES"]
        assert counters["modelled.nvgpu.MEMORY_SECONDS"] == memory_bytes / 3352e9
        assert counters["modelled.nvgpu.TENSOR_SECONDS"] == pytest.approx(
            32 * 16 * 64 / (132 * 2048 * 1.83e9)
        )
        assert len(counters) == len(list(counters))
        with pytest.raises(UserError, match=r"there is no counter 'nvgpu\.LAUNCH'") as error:
            counters.get_checked("nvgpu.LAUNCH")
        assert error.value.hints


def test_peaks_equal_the_data_sheets() -> None:
    with NvgpuDevice(NvgpuOptions(arch="sm_80")) as a100, NvgpuDevice() as h100:
        peaks = {"float16": (312e12, 989.4e12), "float32": (19.5e12, 66.9e12)}
        peaks |= {"int8": (624e12, 1978.9e12), "float64": (19.5e12, 66.9e12)}
        for dtype, expected in peaks.items():
            found = a100.peak_flops(dtype), h100.peak_flops(dtype)
            assert found == pytest.approx(expected, rel=2e-3)


def test_code_for_another_machine_is_refused() -> None:
    device = NvgpuDevice()
    device.check_code({"arch": "sm_90a", "platform": "sim"})
    with pytest.raises(ArtifactError, match="compiled for arch sm_80, and nvgpu0 has sm_90a"):
        device.check_code({"arch": "sm_80", "platform": "sim"})
    with pytest.raises(ArtifactError, match="compiled for platform hw, and nvgpu0 has sim"):
        device.check_code({"arch": "sm_90a", "platform": "hw"})


def test_descriptions_compare_by_value() -> None:
    assert MACHINES == {"sm_80": A100, "sm_86": RTX3090, "sm_89": RTX4090, "sm_90a": H100}
    with pytest.raises(dataclasses.FrozenInstanceError):
        H100.sms = 1  # type: ignore[misc]
    assert NvgpuOptions(arch="sm_80").machine == A100
    with pytest.raises(UserError, match="opt_level=4 is not a whole number from 0 to 3"):
        NvgpuOptions(opt_level=4)
    with pytest.raises(UserError, match="block_threads=1025 is not a whole number from 1 to 1024"):
        NvgpuOptions(block_threads=1025)


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"platform": "cuda"}, "platform='cuda' is not one of sim, hw"),
        ({"arch": "sm_75"}, "arch='sm_75' is not one of sm_80, sm_86, sm_89, sm_90a"),
        ({"sim_schedule": "random"}, "sim_schedule='random' is not one of"),
        ({"seed": -1}, "seed=-1 is not a whole number"),
        ({"memory_bytes": 1000}, "memory_bytes=1000 is not a whole number from 1048576 to"),
        ({"memory_bytes": (1 << 20) + 1}, "memory_bytes=1048577 is not a multiple of 1048576"),
        ({"timeout_s": 0}, "timeout_s=0 is not a positive number"),
        ({"device_index": 1}, "device_index=1 is not for platform 'sim'"),
        ({"platform": "hw", "device_index": -1}, "device_index=-1 is not a whole number"),
        ({"platform": "hw", "seed": 1}, "seed=1 is not for platform 'hw'"),
        ({"platform": "hw", "timeout_s": -1.0}, r"timeout_s=-1\.0 is not a positive number"),
    ],
)
def test_invalid_options_are_refused(given: dict[str, object], what: str) -> None:
    with pytest.raises(UserError, match=what):
        NvgpuOptions(**given)  # type: ignore[arg-type]

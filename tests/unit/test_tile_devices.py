# SPDX-License-Identifier: Apache-2.0
"""Devices and arrays of tile kernels, and their resources."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from examples.tile.attention import Attention
from tests.unit.nvgpu_code import needs_ptxas
from tests.unit.tile_kernels import Shapes, VectorAdd
from xtc import tile
from xtc.core.errors import DeviceFault, DeviceLost, UserError
from xtc.tile import float16, float32
from xtc.tile.config import tile_target
from xtc_targets.null.device import NullDevice
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions

pytestmark = pytest.mark.slow


@pytest.fixture
def device() -> Iterator[NvgpuDevice]:
    with NvgpuDevice(NvgpuOptions(arch="sm_80")) as opened:
        yield opened


def test_the_target_is_found_by_its_capability() -> None:
    assert tile_target().name == "nvgpu"


def test_device_arrays_are_used_in_place(device: NvgpuDevice) -> None:
    x, y = np.arange(700, dtype=np.float32), np.ones(700, np.float32)
    arrays = [device.array(x), device.array(y), device.zeros(700, "float32")]
    program = VectorAdd()
    program(700, *arrays)
    before = device.counters()["nvgpu.LAUNCHES"]
    program(700, *arrays)
    assert device.counters()["nvgpu.LAUNCHES"] == before + 1
    np.testing.assert_array_equal(arrays[2].numpy(), x + y)
    assert "sm_80" in program.compile(700, *arrays).ptx


def test_a_reopened_device_gets_the_code_again(device: NvgpuDevice) -> None:
    x = np.ones(10, np.float32)
    z = np.zeros_like(x)
    program = VectorAdd()
    tile.use_device(device)
    try:
        program(10, x, x, z)
        device.close()
        device.init_device()
        z[:] = 0
        program(10, x, x, z)
    finally:
        tile.use_device(None)
    np.testing.assert_array_equal(z, x + x)


def test_launches_leak_no_device_memory(device: NvgpuDevice) -> None:
    x = np.ones(10, np.float32)
    tile.use_device(device)
    try:
        VectorAdd()(10, x, x, np.zeros_like(x))
    finally:
        tile.use_device(None)
    assert device.memory_info()[0] == 0


def beyond(out: np.ndarray) -> None:
    """A launch that reads far outside of its arguments."""
    VectorAdd()(10**7, out, out, out)


def test_after_a_fault_kernels_without_a_device_run_on_a_new_simulator() -> None:
    x = np.ones(10, np.float32)
    for _ in range(2):
        with pytest.raises(DeviceFault, match="outside an allocation"):
            beyond(np.zeros_like(x))
        z = np.zeros_like(x)
        VectorAdd()(10, x, x, z)
        np.testing.assert_array_equal(z, x + x)


def test_after_a_fault_the_error_explains_how_to_reopen_a_device(device: NvgpuDevice) -> None:
    x = np.ones(10, np.float32)
    z = np.zeros_like(x)
    tile.use_device(device)
    try:
        with pytest.raises(DeviceFault, match="outside an allocation"):
            beyond(z)
        with pytest.raises(DeviceLost, match="the device has stopped") as caught:
            VectorAdd()(10, x, x, z)
        (hint,) = caught.value.hints
        assert hint == "`device.init_device()` reopens the simulator, with empty memory"
        device.init_device()
        VectorAdd()(10, x, x, z)
    finally:
        tile.use_device(None)
    np.testing.assert_array_equal(z, x + x)


def test_a_device_without_tile_kernels_is_refused() -> None:
    with NullDevice() as null, pytest.raises(UserError, match="runs no tile kernels"):
        tile.use_device(null)


@needs_ptxas
def test_resources_and_layouts_need_no_gpu() -> None:
    kernel = Attention().compile(100, 64, 0.125, None, None, None, None)
    needs = kernel.resources
    assert needs.spilled_bytes == 0
    assert needs.shared_bytes == kernel.shared_bytes == 16384
    assert 1 <= needs.blocks <= 16
    assert "HMMA.16816.F32" in kernel.sass
    assert "LDSM" in kernel.sass
    assert any(text.startswith("shape(64,64)") and "    0.0" in text for text in kernel.layouts)


class Tuned(tile.Script):
    def __init__(self, size: int, warps: int) -> None:
        super().__init__()
        self.size, self.warps = size, warps

    def __call__(self, x_ptr: ~float32):
        self.attrs.blocks = 1
        self.attrs.warps = self.warps
        s = self.shared_tensor(dtype=float32, shape=[self.size, 1024])
        x = self.global_view(x_ptr, dtype=float32, shape=[self.size, 1024])
        self.copy_async(x, s, offsets=[0, 0])


def test_a_schedule_that_does_not_fit_is_listed_with_its_cause() -> None:
    kernel = tile.autotune("size", [16, 64])(tile.autotune("warps", [4, 40])(Tuned))
    ranked = kernel().candidates(None)
    assert [each.error is None for each in ranked] == [True, False, False, False]
    assert ranked[0].parameters == {"size": 16, "warps": 4}
    causes = sorted(str(each.error) for each in ranked[1:])
    assert "262144 bytes of shared memory" in "\n".join(causes)
    assert "attrs.warps = 40" in "\n".join(causes)


def test_the_layouts_of_the_language_are_used_in_the_code() -> None:
    assert tile.float16 is float16
    assert "tile.transpose" in Shapes().compile(None, None).ir()


@pytest.mark.parametrize("name", ["int4", "u3", "float8_e4m3", "float6_e3m2", "tf32"])
def test_narrow_types_have_several_names(name: str) -> None:
    assert isinstance(getattr(tile, name), tile.DataType)


def test_unknown_types_are_refused() -> None:
    assert not hasattr(tile, "int9b")

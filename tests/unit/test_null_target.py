# SPDX-License-Identifier: Apache-2.0
"""The null target keeps the contracts of a target and of an accelerator."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest

import xtc
import xtc.ops as O
from xtc.core.errors import (
    ArtifactError,
    DeviceLost,
    DeviceMemoryError,
    LaunchError,
    UserError,
)
from xtc.graph.graph import Graph
from xtc.interfaces.runtime import AcceleratorDevice
from xtc_targets.null import TARGET, NullDevice, NullOptions


@pytest.fixture
def device() -> Iterator[NullDevice]:
    with NullDevice(memory_bytes=1 << 20) as opened:
        yield opened


def product(device: object = None) -> Graph:
    """A on the host, B and C on `device`."""
    a, b = O.tensor((4, 16), name="A"), O.tensor((16, 8), name="B", device=device)
    with O.graph(name="product") as gb:
        O.matmul(a, b, name="C", device=device)
    return gb.graph


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Device code with the function `product_null0_0`: a, b, c."""
    folder = tmp_path_factory.mktemp("image")
    artifact = xtc.driver.prepare(product("null0"), "null").build(folder)
    return artifact.file(artifact.manifest.offload.images["null0"].file).read_bytes()


class TestTarget:
    def test_it_is_found_by_its_name(self) -> None:
        assert "null: ready" in map(str, xtc.devices())

    @pytest.mark.slow
    def test_importing_it_loads_nothing_heavy(self) -> None:
        program = (
            "import sys, xtc_targets.null\n"
            "print([m for m in ('mlir', 'llvm', 'xtc.codegen.llvm') if m in sys.modules])"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        assert (done.stdout, done.stderr) == ("[]\n", "")

    @pytest.mark.slow
    def test_a_call_computes(self) -> None:
        with xtc.compile(product(), target="null") as module:
            module.check()
            assert module.runtime.counters()["launches"] == 1

    def test_kernels_are_listed(self) -> None:
        with xtc.compile(product("null0"), target="null") as module:
            offload = module.artifact.manifest.offload
        assert [(kernel.device, kernel.symbol) for kernel in offload.kernels] == [
            ("null0", "product_null0_0")
        ]
        assert offload.images["null0"].target == "null"

    @pytest.mark.slow
    def test_an_artefact_is_saved_and_loaded(self, tmp_path: Path) -> None:
        with xtc.compile(product(), target="null") as module:
            module.save(tmp_path / "saved")
        a, b = np.ones((4, 16), np.float32), np.ones((16, 8), np.float32)
        with xtc.load(tmp_path / "saved") as loaded:
            np.testing.assert_array_equal(loaded(a, b), 16)

    @pytest.mark.parametrize("value", [0, -1])
    def test_memory_has_a_size(self, value: int) -> None:
        with pytest.raises(
            UserError, match=f"memory_bytes={value} is not a whole number from 1 to"
        ):
            NullOptions(value)

    @pytest.mark.parametrize("value", ["many", 1.5, None, True])
    def test_an_option_has_a_type(self, value: object) -> None:
        with pytest.raises(UserError, match="option 'memory_bytes' of target 'null' cannot be"):
            TARGET.options(memory_bytes=value)


class TestNumbers:
    def test_the_smallest_free_number_is_taken(self) -> None:
        devices = [NullDevice() for _ in range(3)]
        assert [device.device_name for device in devices] == ["null0", "null1", "null2"]
        assert [device.device_id for device in devices] == [0, 1, 2]
        devices[1].close()
        devices[1].close()
        with NullDevice() as again:
            assert again.device_name == "null1"
        for device in devices:
            device.close()

    @pytest.mark.slow
    def test_a_device_that_nobody_holds_gives_its_number_back(self) -> None:
        NullDevice()
        gc.collect()
        with NullDevice() as device:
            assert device.device_name == "null0"

    @pytest.mark.slow
    def test_a_module_closes_only_the_device_that_it_opened(self, device: NullDevice) -> None:
        with xtc.compile(product(), target="null") as module:
            assert module.runtime.device_name == "null1"
        with NullDevice() as other:
            assert other.device_name == "null1"
        with xtc.compile(product(), target=device):
            pass
        device.memory_free(device.memory_allocate(1))

    def test_opening_twice_and_again(self) -> None:
        device = NullDevice()
        device.init_device()
        address = device.memory_allocate(4)
        device.deinit_device()
        device.deinit_device()
        with pytest.raises(DeviceLost, match="null0 is closed"):
            device.memory_free(address)
        device.init_device()
        with pytest.raises(DeviceMemoryError):
            device.memory_free(address)
        device.close()


class TestMemory:
    def test_it_is_an_accelerator_and_there_is_one(self, device: NullDevice) -> None:
        assert isinstance(device, AcceleratorDevice)
        assert NullDevice.detect_accelerator() is None

    def test_bytes_go_there_and_back(self, device: NullDevice) -> None:
        address = device.memory_allocate(16)
        there, back = np.arange(4, dtype=np.int32), np.zeros(4, np.int32)
        device.memory_copy_to(address, there.data)
        device.memory_fill_zero(address + 4, 4)
        device.memory_copy_from(back.data, address)
        assert back.tolist() == [0, 0, 2, 3]

    def test_fresh_memory_is_poisoned(self, device: NullDevice) -> None:
        assert (device.empty(3, "int8").numpy() == np.int8(-91)).all()

    @pytest.mark.parametrize(("nbytes", "offset"), [(17, 0), (8, 9), (1, 16)])
    def test_a_copy_outside_an_allocation_is_refused(
        self, device: NullDevice, nbytes: int, offset: int
    ) -> None:
        address = device.memory_allocate(16)
        with pytest.raises(DeviceMemoryError, match=r"null0: .* are not inside an allocation"):
            device.memory_copy_to(address + offset, np.zeros(nbytes, np.uint8).data)

    def test_more_than_there_is(self, device: NullDevice) -> None:
        with pytest.raises(DeviceMemoryError, match="cannot allocate 1048577 bytes") as failure:
            device.memory_allocate((1 << 20) + 1)
        assert failure.value.notes == ("1048576 of 1048576 bytes are free",)

    def test_the_memory_option_reaches_the_device(self) -> None:
        with (
            xtc.compile(product(), target="null", memory_bytes=600) as module,
            pytest.raises(DeviceMemoryError, match="cannot allocate 512 bytes") as failure,
        ):
            module(np.ones((4, 16), np.float32), np.ones((16, 8), np.float32))
        assert failure.value.notes == ("344 of 600 bytes are free",)


class TestCode:
    def test_functions_are_found_by_name(self, device: NullDevice, image: bytes) -> None:
        kernel = device.get_module_function(device.load_module(image), "product_null0_0")
        a = device.array(np.ones((4, 16), np.float32))
        b = device.array(np.full((16, 8), 2, np.float32))
        c = device.empty((4, 8), "float32")
        device.launch(kernel, [a, b, c])
        np.testing.assert_array_equal(c.numpy(), 32)

    def test_what_is_not_there(self, device: NullDevice, image: bytes) -> None:
        with pytest.raises(LaunchError, match="the module has no function 'other'"):
            device.get_module_function(device.load_module(image), "other")

    def test_what_is_no_code_is_refused(self, device: NullDevice) -> None:
        with pytest.raises(ArtifactError, match="the image cannot be loaded"):
            device.load_module(b"no code")

    def test_unloaded_code_cannot_be_launched(self, device: NullDevice, image: bytes) -> None:
        module = device.load_module(image)
        kernel = device.get_module_function(module, "product_null0_0")
        device.unload_module(module)
        with pytest.raises(LaunchError, match="is not loaded"):
            device.launch(kernel, [0, 0, 0])

    def test_images_keep_no_file_open(self, device: NullDevice, image: bytes) -> None:
        device.unload_module(device.load_module(image))
        before = psutil.Process().num_fds()
        for _ in range(20):
            device.unload_module(device.load_module(image))
        assert psutil.Process().num_fds() == before

# SPDX-License-Identifier: Apache-2.0
"""The null target keeps the contracts of a target and of an accelerator, and computes nothing."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
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
from xtc.evaluate import MismatchError
from xtc.graph.graph import Graph
from xtc.interfaces.artifact import Artifact, Manifest
from xtc.interfaces.runtime import AcceleratorDevice
from xtc_targets.null import TARGET, NullDevice, NullOptions

IMAGE = b"module {\n  func.func @first(%arg0: i32) {\n  func.func @second(%arg0: i32) {\n}\n"


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


def ones(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float32)


def verbs(device: NullDevice) -> list[str]:
    """The commands that the device ran, without their operands."""
    return [command.split()[0] for command in device.commands]


class TestTarget:
    def test_it_is_found_by_its_name(self) -> None:
        assert "null: ready" in map(str, xtc.devices())

    def test_importing_it_loads_nothing_heavy(self) -> None:
        program = (
            "import sys, xtc_targets.null\n"
            "print([m for m in ('mlir', 'llvm', 'xtc.core.llvm') if m in sys.modules])"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        assert (done.stdout, done.stderr) == ("[]\n", "")

    def test_a_call_returns_zeros(self) -> None:
        with xtc.compile(product(), target="null") as module:
            out = np.full((4, 8), 7, np.float32)
            assert module(ones(4, 16), ones(16, 8), out=out) is out
            np.testing.assert_array_equal(out, 0)

    def test_a_check_says_that_zeros_are_wrong(self) -> None:
        with (
            xtc.compile(product(), target="null") as module,
            pytest.raises(MismatchError, match="'C' is wrong: 32 of 32 elements differ"),
        ):
            module.check()

    def test_a_measurement_claims_no_rate(self) -> None:
        with xtc.compile(product(), target="null") as module:
            measured = module.measure(repeat=2)
        assert (measured.gflops, measured.gbytes_per_s, measured.fraction_of_peak) == (None,) * 3

    def test_memory_only_is_refused_and_nothing_stays_open(self) -> None:
        with pytest.raises(UserError, match="cannot load code from memory"):
            xtc.compile(product(), target="null", in_memory=True)
        with NullDevice() as first:
            assert first.device_name == "null0"

    @pytest.mark.parametrize(("device", "names"), [("null0", ("product.null0.0",)), (None, ())])
    def test_device_functions_are_listed(self, device: str | None, names: tuple[str, ...]) -> None:
        with xtc.compile(product(device), target="null") as module:
            assert module.artifact.manifest.device_functions == names
            assert isinstance(module.runtime, NullDevice)
            loaded = module.runtime.load_module(module.artifact.file("module.mlir").read_bytes())
            assert set(loaded.functions) == {"product", *names}

    def test_an_artefact_is_saved_and_loaded(self, tmp_path: Path) -> None:
        with xtc.compile(product(), target="null") as module:
            module.save(tmp_path / "saved")
        with xtc.load(tmp_path / "saved") as loaded:
            np.testing.assert_array_equal(loaded(ones(4, 16), ones(16, 8)), 0)

    def test_code_for_another_target_is_refused(self, device: NullDevice, tmp_path: Path) -> None:
        with xtc.compile(product()) as module, pytest.raises(ArtifactError, match="cannot load"):
            device.load(module.artifact)
        manifest = Manifest("f", "null", (), {})
        with pytest.raises(ArtifactError, match=r"no file 'module\.mlir'"):
            device.load(Artifact(manifest, tmp_path))

    @pytest.mark.parametrize("value", [0, -1])
    def test_memory_has_a_size(self, value: int) -> None:
        with pytest.raises(UserError, match=f"memory_bytes={value} is not 1 or more"):
            NullOptions(value)

    def test_the_memory_option_reaches_the_device(self) -> None:
        with (
            xtc.compile(product("null0"), target="null", memory_bytes=600) as module,
            pytest.raises(DeviceMemoryError, match="cannot allocate 128 bytes") as failure,
        ):
            module(ones(4, 16), ones(16, 8))
        assert failure.value.notes == ("88 of 600 bytes are free",)

    @pytest.mark.parametrize("value", ["many", 1.5, None, True])
    def test_an_option_has_a_type(self, value: object) -> None:
        with pytest.raises(UserError, match="option 'memory_bytes' of target 'null' cannot be"):
            TARGET.options(memory_bytes=value)


class TestPlacement:
    def test_arguments_on_the_device_are_lent_its_memory(self, device: NullDevice) -> None:
        with xtc.compile(product(device), target=device) as module:
            result = module(ones(4, 16), ones(16, 8))
        np.testing.assert_array_equal(result, np.zeros((4, 8)))
        assert verbs(device) == [
            *("allocate", "allocate", "copy_to"),
            *("launch", "fill_zero", "copy_from", "free", "free"),
        ]
        assert device.counters()["bytes_to_device"] == 16 * 8 * 4
        assert device.counters()["bytes_from_device"] == 4 * 8 * 4

    def test_a_failed_call_keeps_no_device_memory(self, device: NullDevice) -> None:
        with xtc.compile(product(device), target=device) as module:
            device.unload(module._loaded)
            with pytest.raises(UserError, match="closed"):
                module(ones(4, 16), ones(16, 8))
        assert verbs(device) == ["allocate", "allocate", "copy_to", "free", "free"]

    def test_transfers_are_not_in_a_measurement(self, device: NullDevice) -> None:
        with xtc.compile(product(device), target=device) as module:
            module.measure(repeat=5, number=2)
        assert verbs(device).count("copy_to") == 1
        assert verbs(device).count("launch") > 10

    @pytest.mark.parametrize("given", ["null", None])
    def test_a_device_in_the_graph_runs_it(self, device: NullDevice, given: str | None) -> None:
        with xtc.compile(product(device), target=given or device) as module:
            assert module.runtime is device
        assert device.queue() is not None  # still open

    def test_a_name_alone_stands_for_the_device_that_runs(self, device: NullDevice) -> None:
        with xtc.compile(product("null7"), target=device) as module:
            module(ones(4, 16), ones(16, 8))
        assert "launch" in verbs(device)

    def test_two_devices_hold_each_their_own(self, device: NullDevice) -> None:
        with NullDevice() as other:
            x, y = O.tensor((2, 2), name="X", device=device), O.tensor((3,), name="Y", device=other)
            with O.graph(name="both") as gb:
                O.outputs(O.relu(x, name="P", device=other), O.relu(y, name="Q", device=other))
            with xtc.compile(gb.graph, target=device) as module:
                p, q = module(ones(2, 2), ones(3))
            assert (p.tolist(), q.tolist()) == ([[0, 0], [0, 0]], [0, 0, 0])
            assert verbs(device) == ["allocate", "copy_to", "launch", "free"]
            assert verbs(other).count("allocate") == 3
            assert verbs(other).count("fill_zero") == 2

    def test_of_several_devices_each_must_be_given(self, device: NullDevice) -> None:
        x = O.tensor((2,), name="X", device=device)
        with O.graph(name="two") as gb:
            O.relu(x, name="Y", device="null9")
        with pytest.raises(UserError, match="no device given is called null9"):
            xtc.compile(gb.graph, target=device)

    def test_the_only_device_of_a_graph_must_be_the_one_that_runs(self, device: NullDevice) -> None:
        with NullDevice() as other, pytest.raises(UserError, match="arguments on null0, but runs"):
            xtc.compile(product(device), target=other)

    def test_a_device_of_another_target_is_refused(self) -> None:
        with pytest.raises(UserError, match="'B' is on null0, but the graph is") as failure:
            xtc.compile(product("null0"))
        assert "test_null_target.py" in str(failure.value.where)
        assert failure.value.hints == ("compile it for the device: target='null'",)

    def test_an_artefact_is_loaded_on_a_device_of_choice(
        self, device: NullDevice, tmp_path: Path
    ) -> None:
        with xtc.compile(product("null0"), target="null") as module:
            module.save(tmp_path / "saved")
        with xtc.load(tmp_path / "saved", device) as loaded:
            assert loaded.runtime is device
            loaded(ones(4, 16), ones(16, 8))
        assert "copy_to" in verbs(device)


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

    def test_a_device_that_nobody_holds_gives_its_number_back(self) -> None:
        NullDevice()
        gc.collect()
        with NullDevice() as device:
            assert device.device_name == "null0"

    def test_a_module_closes_only_the_device_that_it_opened(self, device: NullDevice) -> None:
        with xtc.compile(product(), target="null") as module:
            assert module.runtime.device_name == "null1"
        with NullDevice() as other:
            assert other.device_name == "null1"
        with xtc.compile(product(), target=device) as module:
            call = module._loaded.bind([0, 0, 0])
        device.memory_free(device.memory_allocate(1))
        with pytest.raises(UserError, match="the module is closed"):
            call()

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

    def test_two_devices_of_one_name_are_told_apart(self) -> None:
        first = NullDevice()
        first.close()
        with NullDevice() as second:
            x = O.tensor((2,), name="X", device=first)
            with O.graph(name="g") as gb:
                O.relu(x, name="Y", device=second)
            with pytest.raises(UserError, match="two devices are called null0: one of them is"):
                xtc.compile(gb.graph, target="null")


class TestMemory:
    def test_it_is_an_accelerator_and_there_is_one(self, device: NullDevice) -> None:
        assert isinstance(device, AcceleratorDevice)
        assert NullDevice.detect_accelerator() is None
        assert (device.target_name, device.device_arch, device.is_modelled) == (
            "null",
            "null",
            True,
        )
        assert device.peak_flops("float32") == 0

    def test_what_is_copied_there_comes_back(self, device: NullDevice) -> None:
        data, back = np.arange(10, dtype=np.int64), np.zeros(10, np.int64)
        address = device.memory_allocate(data.nbytes)
        assert device.memory_data_pointer(address) == address
        device.memory_copy_to(address, data.data)
        device.memory_copy_from(back.data, address)
        np.testing.assert_array_equal(back, data)
        device.memory_fill_zero(address + 8, 8)
        device.memory_copy_from(back.data, address)
        np.testing.assert_array_equal(back, [0, 0, *range(2, 10)])
        device.memory_free(address)

    def test_fresh_memory_is_not_zero(self, device: NullDevice) -> None:
        back = np.zeros(64, np.uint8)
        device.memory_copy_from(back.data, device.memory_allocate(64))
        assert back.all()

    def test_an_address_starts_aligned_and_is_never_given_out_again(
        self, device: NullDevice
    ) -> None:
        seen = set()
        for nbytes in (1, 63, 64, 65, 1000):
            address = device.memory_allocate(nbytes)
            assert address % 64 == 0
            assert address not in seen
            seen.add(address)
            device.memory_free(address)

    def test_an_address_is_of_one_device_only(self, device: NullDevice) -> None:
        with NullDevice() as other:
            address = other.memory_allocate(8)
            with pytest.raises(DeviceMemoryError):
                device.memory_fill_zero(address, 8)

    @pytest.mark.parametrize(("offset", "nbytes"), [(0, 17), (8, 9), (16, 1), (-1, 4), (17, 0)])
    def test_a_copy_outside_an_allocation_is_refused(
        self, device: NullDevice, offset: int, nbytes: int
    ) -> None:
        address = device.memory_allocate(16)
        device.memory_allocate(16)
        buffer = memoryview(bytearray(nbytes))
        outside = pytest.raises(DeviceMemoryError, match="not inside an allocation")
        with outside:
            device.memory_copy_to(address + offset, buffer)
        with outside:
            device.memory_copy_from(buffer, address + offset)
        with outside:
            device.memory_fill_zero(address + offset, nbytes)

    def test_a_negative_size_is_refused(self, device: NullDevice) -> None:
        with pytest.raises(DeviceMemoryError):
            device.memory_fill_zero(device.memory_allocate(8), -1)

    def test_only_an_allocation_is_freed_and_only_once(self, device: NullDevice) -> None:
        address = device.memory_allocate(16)
        for wrong in (address + 1, 0, 12345):
            with pytest.raises(DeviceMemoryError, match=f"no allocation begins at {wrong:#x}"):
                device.memory_free(wrong)
        device.memory_free(address)
        with pytest.raises(DeviceMemoryError):
            device.memory_free(address)
        with pytest.raises(DeviceMemoryError):
            device.memory_data_pointer(address)

    @pytest.mark.parametrize("nbytes", [0, -1, (1 << 20) + 1])
    def test_what_cannot_be_allocated(self, device: NullDevice, nbytes: int) -> None:
        with pytest.raises(DeviceMemoryError, match=f"cannot allocate {nbytes} bytes") as failure:
            device.memory_allocate(nbytes)
        assert failure.value.notes == ("1048576 of 1048576 bytes are free",)

    def test_freed_memory_can_be_had_again(self, device: NullDevice) -> None:
        for _ in range(3):
            device.memory_free(device.memory_allocate(1 << 20))

    def test_host_memory_must_be_dense_and_writable(self, device: NullDevice) -> None:
        address = device.memory_allocate(64)
        with pytest.raises(UserError, match="dense"):
            device.memory_copy_to(address, np.zeros((4, 4), np.uint8)[:, ::2].data)
        with pytest.raises(UserError, match="read-only"):
            device.memory_copy_from(memoryview(b"12345678"), address)


class TestCode:
    def test_functions_are_found_by_name(self, device: NullDevice) -> None:
        module = device.load_module(IMAGE)
        assert device.get_module_function(module, "second").name == "second"
        with pytest.raises(LaunchError, match="no function 'secand'") as failure:
            device.get_module_function(module, "secand")
        assert failure.value.hints == ("did you mean 'second'?",)

    def test_what_is_no_code_is_refused(self, device: NullDevice) -> None:
        with pytest.raises(ArtifactError, match="no function"):
            device.load_module(b"\xff\x00")

    def test_unloaded_code_cannot_be_launched(self, device: NullDevice) -> None:
        module = device.load_module(IMAGE)
        function = device.get_module_function(module, "first")
        device.unload_module(module)
        device.unload_module(module)
        with pytest.raises(LaunchError, match="not loaded on null0"):
            device.get_module_function(module, "first")
        queue = device.queue()
        queue.launch(function, [])
        with pytest.raises(LaunchError, match="not loaded on null0"):
            queue.wait()

    def test_code_of_another_device_cannot_be_launched(self, device: NullDevice) -> None:
        with NullDevice() as other:
            function = other.get_module_function(other.load_module(IMAGE), "first")
            queue = device.queue()
            queue.launch(function, [])
            with pytest.raises(LaunchError, match="not loaded on null0"):
                queue.wait()

    def test_evaluate_runs_once_and_waits(self, device: NullDevice) -> None:
        with xtc.compile(product(), target=device) as module:
            arrays = [ones(4, 16), ones(16, 8), ones(4, 8)]
            device.evaluate(module._loaded, [array.ctypes.data for array in arrays])
            np.testing.assert_array_equal(arrays[2], 0)
            assert device.counters()["launches"] == 1
            assert verbs(device) == ["launch"]

# SPDX-License-Identifier: Apache-2.0
"""Lifetimes of programs on devices: saved, cached, called from threads, failing, closed."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest

import xtc
import xtc.ops as O
from tests.unit.offload_support import A_BYTES, B_BYTES, A, B, counted, matmul_graph
from xtc.core.errors import ArtifactError, DeviceLost, DeviceMemoryError, UserError
from xtc.graph.graph import Graph
from xtc_targets.mppa import MppaDevice, MppaOptions
from xtc_targets.null import NullDevice

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("collected")]
TEMPORARY = 4096  # bytes that `hungry` allocates in the middle of a call


@pytest.fixture
def device() -> Iterator[NullDevice]:
    with NullDevice() as opened:
        yield opened


def hungry(device: object) -> Graph:
    """Needs A, then TEMPORARY bytes for a copy of the host's result, then those of another one."""
    x = O.tensor((32, 32), name="X", device=device)
    with O.graph(name="hungry") as gb:
        y = O.exp(O.relu(x, name="R", device=device), name="E")
        O.add(x, y, name="Y", device=device)
    return gb.graph


class TestSaved:
    def test_a_saved_module_runs_on_the_given_device(
        self, device: NullDevice, tmp_path: Path
    ) -> None:
        with xtc.compile(matmul_graph(device, weight=True), device) as module:
            module.save(tmp_path / "saved")
        with NullDevice() as other, xtc.load(tmp_path / "saved", other) as loaded:
            assert loaded.devices == {"null0": other}
            assert other.memory_info()[0] == B_BYTES
            with counted(other, launches=1, bytes_to_device=A_BYTES):
                c = loaded(A)
            np.testing.assert_allclose(c.numpy(), A @ B)
            del c
            loaded.close()
            assert other.memory_info()[0] == 0

    def test_a_missing_device_is_opened_and_closed(self, tmp_path: Path) -> None:
        with xtc.compile(matmul_graph("null0", weight=True)) as module:
            module.save(tmp_path / "saved")
        with xtc.load(tmp_path / "saved") as loaded:
            (opened,) = loaded.devices.values()
            assert loaded(A).numpy()[3, 7] == (A @ B)[3, 7]
        assert repr(opened) == "<null0, closed>"

    def test_unused_devices_are_refused(self, device: NullDevice, tmp_path: Path) -> None:
        with xtc.compile(matmul_graph(device), device) as module:
            module.save(tmp_path / "saved")
        with (
            NullDevice() as other,
            pytest.raises(UserError, match="'product' does not use null1, which was given"),
        ):
            xtc.load(tmp_path / "saved", device, other)
        with MppaDevice() as mppa, pytest.raises(UserError, match="mppa0 cannot replace null0"):
            xtc.load(tmp_path / "saved", mppa)

    @pytest.mark.parametrize("name", ["null0.so", "residents.bin"])
    def test_changed_files_are_refused(self, tmp_path: Path, name: str) -> None:
        with xtc.compile(matmul_graph("null0", weight=True)) as module:
            module.save(tmp_path / "saved")
        file = tmp_path / "saved" / name
        file.write_bytes(file.read_bytes()[:-1] + b"\xff")
        with pytest.raises(ArtifactError, match=name.replace(".", r"\.")):
            xtc.load(tmp_path / "saved")


@pytest.mark.usefixtures("artifact_cache")
class TestCached:
    def test_the_same_graph_on_another_device_of_that_name_is_a_hit(self) -> None:
        for hit in (False, True):
            with NullDevice() as device, xtc.compile(matmul_graph(device, weight=True)) as module:
                assert module.cached is hit
                np.testing.assert_allclose(module(A).numpy(), A @ B)

    def test_other_placements_machines_options_and_weights_are_misses(self) -> None:
        graphs = [matmul_graph(None), matmul_graph("null0"), matmul_graph("null0", weight=True)]
        graphs += [matmul_graph("mppa0"), matmul_graph("null0", a_device="null0")]
        for graph in graphs:
            with xtc.compile(graph) as module:
                assert not module.cached
        for options in ({"clusters": 2}, {"clusters": 2, "pes": 4}, {"double_buffer": False}):
            with xtc.compile(matmul_graph("mppa0"), "mppa", **options) as module:
                assert not module.cached
                module.check()
        with MppaDevice(MppaOptions(clusters=3)) as mppa, xtc.compile(matmul_graph(mppa)) as module:
            assert not module.cached


class TestFailing:
    def test_running_out_of_memory_during_a_call_is_reported(self) -> None:
        with (
            NullDevice(memory_bytes=5 * TEMPORARY) as device,
            xtc.compile(hungry(device)) as module,
        ):
            x = device.array(np.ones((32, 32), np.float32))
            hoard = device.empty(2 * TEMPORARY, "int8")
            used = device.memory_info()[0]
            with pytest.raises(DeviceMemoryError) as failure:
                module(x)
            assert str(failure.value) == (
                "null0: cannot allocate 4096 bytes\n  note: 0 of 20480 bytes are free"
            )
            assert device.memory_info()[0] == used
            hoard.free()
            np.testing.assert_allclose(module(x).numpy(), 1 + np.e, rtol=1e-6)

    def test_repeated_failures_leak_nothing(self, is_long: bool) -> None:
        with (
            NullDevice(memory_bytes=5 * TEMPORARY) as device,
            xtc.compile(hungry(device)) as module,
        ):
            x = device.array(np.ones((32, 32), np.float32))
            hoard = device.empty(2 * TEMPORARY, "int8")
            used, files = device.memory_info()[0], psutil.Process().num_fds()
            for _ in range(1000 if is_long else 100):
                with pytest.raises(DeviceMemoryError, match="cannot allocate 4096 bytes"):
                    module(x)
                assert device.memory_info()[0] == used
            assert psutil.Process().num_fds() == files
            hoard.free()
            np.testing.assert_allclose(module(x).numpy(), 1 + np.e, rtol=1e-6)

    def test_loading_reports_a_weight_that_does_not_fit(self) -> None:
        with NullDevice(memory_bytes=500) as device:
            with pytest.raises(DeviceMemoryError, match="cannot allocate 512 bytes"):
                xtc.compile(matmul_graph(device, weight=True), device)
            assert device.memory_info()[0] == 0

    def test_an_output_that_does_not_fit_is_reported(self) -> None:
        with NullDevice(memory_bytes=600) as device, xtc.compile(matmul_graph(device)) as module:
            b = device.array(B)
            with pytest.raises(DeviceMemoryError, match="cannot allocate 128 bytes"):
                module(A, b)
            assert device.memory_info()[0] == B_BYTES


class TestThreads:
    def test_threads_call_one_module(self, device: NullDevice, is_long: bool) -> None:
        wrong: list[object] = []
        with xtc.compile(matmul_graph(device, weight=True)) as module:

            def call(factor: int) -> None:
                for _ in range(500 if is_long else 50):
                    if not np.allclose(module(factor * A).numpy(), factor * (A @ B)):
                        wrong.append(factor)

            run_all(call, 4)
        assert wrong == []

    def test_a_failing_call_does_not_affect_others(self) -> None:
        outcomes: list[str] = []
        with (
            NullDevice(memory_bytes=9 * TEMPORARY) as device,
            xtc.compile(hungry(device)) as module,
        ):

            def call(factor: int) -> None:
                for _ in range(50):
                    outcomes.append(outcome(module, device, factor))

            run_all(call, 3)
        assert set(outcomes) <= {"right", "out of memory"}
        assert "right" in outcomes


def outcome(module: xtc.Module, device: NullDevice, factor: int) -> str:
    """The outcome of a call during which memory is taken."""
    x = np.full((32, 32), factor, np.float32)
    try:
        with device.array(x) as given, device.empty(TEMPORARY * factor, "int8"):
            values = module(given).numpy()
    except DeviceMemoryError:
        return "out of memory"
    return "right" if np.allclose(values, x + np.exp(x)) else "wrong"


def run_all(work: object, count: int) -> None:
    """Call `work(1)` to `work(count)`, each in a thread, and raise the first exception."""
    errors: list[BaseException] = []

    def guarded(number: int) -> None:
        try:
            work(number)  # type: ignore[operator]
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(number + 1,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


@pytest.mark.parametrize("kind", [NullDevice, MppaDevice])
class TestClosed:
    def test_a_closed_device_fails_its_modules(self, kind: type) -> None:
        device = kind()
        with xtc.compile(matmul_graph(device, weight=True)) as module:
            module(A)
            device.close()
            for _ in range(2):
                with pytest.raises(DeviceLost, match=f"^{device.device_name} is closed"):
                    module(A)
        gc.collect()

    def test_a_reopened_device_has_lost_the_module(self, kind: type) -> None:
        with kind() as device:
            with xtc.compile(matmul_graph(device, weight=True)) as module:
                module(A)
                device.close()
                device.init_device()
                mine = device.array(B)
                for _ in range(2):
                    with pytest.raises(DeviceLost, match="program's code and constants on it are"):
                        module(A)
            np.testing.assert_array_equal(mine.numpy(), B)
            with xtc.compile(matmul_graph(device, weight=True)) as module:
                np.testing.assert_allclose(module(A).numpy(), A @ B)

    def test_a_closed_module_frees_device_memory(self, kind: type) -> None:
        with kind() as device:
            module = xtc.compile(matmul_graph(device, weight=True))
            module.close()
            module.close()
            for call in (module, module.check, module.measure):
                with pytest.raises(UserError, match="module 'product' is closed"):
                    call(A)
            assert device.memory_info()[0] == 0

    def test_a_collected_module_frees_device_memory(self, kind: type) -> None:
        with kind() as device:
            module = xtc.compile(matmul_graph(device, weight=True))
            module(A)
            del module
            gc.collect()
            assert device.memory_info()[0] == 0

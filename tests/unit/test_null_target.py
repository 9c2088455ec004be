# SPDX-License-Identifier: Apache-2.0
"""The null target satisfies the contracts of a target and of an accelerator."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import xtc
import xtc.ops as O
from xtc.core.errors import (
    DeviceMemoryError,
    UserError,
)
from xtc.driver import prepare
from xtc.graph.graph import Graph
from xtc.ir.pipeline import Pipeline, Stage
from xtc_targets.null import TARGET, NullDevice, NullOptions, NullTarget


@pytest.fixture
def device() -> Iterator[NullDevice]:
    with NullDevice(memory_bytes=1 << 20) as opened:
        yield opened


def matmul_graph(device: object = None) -> Graph:
    """A on the host, B and C on `device`."""
    a, b = O.tensor((4, 16), name="A"), O.tensor((16, 8), name="B", device=device)
    with O.graph(name="product") as gb:
        O.matmul(a, b, name="C", device=device)
    return gb.graph


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Device code with the function `product_null0_0`: a, b, c."""
    folder = tmp_path_factory.mktemp("image")
    artifact = xtc.driver.prepare(matmul_graph("null0"), "null").build(folder)
    return artifact.file(artifact.manifest.offload.images["null0"].file).read_bytes()


class TestTarget:
    def test_it_is_found_by_its_name(self) -> None:
        assert "null: ready" in map(str, xtc.devices())

    @pytest.mark.slow
    def test_importing_it_loads_no_mlir(self) -> None:
        program = (
            "import sys, xtc_targets.null\n"
            "print([m for m in ('mlir', 'llvm', 'xtc.codegen.llvm') if m in sys.modules])"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        assert (done.stdout, done.stderr) == ("[]\n", "")

    @pytest.mark.slow
    def test_a_call_computes(self) -> None:
        with xtc.compile(matmul_graph(), target="null") as module:
            module.check()
            assert module.runtime.counters()["null.LAUNCHES"] == 1

    @pytest.mark.slow
    def test_kernels_are_listed(self) -> None:
        with xtc.compile(matmul_graph("null0"), target="null") as module:
            offload = module.artifact.manifest.offload
        assert [(kernel.device, kernel.symbol) for kernel in offload.kernels] == [
            ("null0", "product_null0_0")
        ]
        assert offload.images["null0"].target == "null"

    @pytest.mark.slow
    def test_an_artifact_is_saved_and_loaded(self, tmp_path: Path) -> None:
        with xtc.compile(matmul_graph(), target="null") as module:
            module.save(tmp_path / "saved")
        a, b = np.ones((4, 16), np.float32), np.ones((16, 8), np.float32)
        with xtc.load(tmp_path / "saved") as loaded:
            np.testing.assert_array_equal(loaded(a, b), 16)

    @pytest.mark.parametrize("value", [0, -1])
    def test_the_memory_size_is_an_option(self, value: int) -> None:
        with pytest.raises(
            UserError, match=f"memory_bytes={value} is not a whole number from 1 to"
        ):
            NullOptions(value)

    @pytest.mark.parametrize("value", ["many", 1.5, None, True])
    def test_an_option_of_wrong_type_is_refused(self, value: object) -> None:
        with pytest.raises(UserError, match="option 'memory_bytes' of target 'null' cannot be"):
            TARGET.options(memory_bytes=value)


class TestNumbers:
    @pytest.mark.slow
    def test_a_module_closes_only_the_device_that_it_opened(self, device: NullDevice) -> None:
        with xtc.compile(matmul_graph(), target="null") as module:
            assert module.runtime.device_name == "null1"
        with NullDevice() as other:
            assert other.device_name == "null1"
        with xtc.compile(matmul_graph(), target=device):
            pass
        device.memory_free(device.memory_allocate(1))


class TestMemory:
    @pytest.mark.slow
    def test_the_memory_option_reaches_the_device(self) -> None:
        with (
            xtc.compile(matmul_graph(), target="null", memory_bytes=600) as module,
            pytest.raises(DeviceMemoryError, match="cannot allocate 512 bytes") as failure,
        ):
            module(np.ones((4, 16), np.float32), np.ones((16, 8), np.float32))
        assert failure.value.notes == ("344 of 600 bytes are free",)


class TestCode:
    @pytest.mark.slow
    def test_functions_are_found_by_name(self, device: NullDevice, image: bytes) -> None:
        kernel = device.get_module_function(device.load_module(image), "product_null0_0")
        a = device.array(np.ones((4, 16), np.float32))
        b = device.array(np.full((16, 8), 2, np.float32))
        c = device.empty((4, 8), "float32")
        device.launch(kernel, [a, b, c])
        np.testing.assert_array_equal(c.numpy(), 32)


def test_a_schedule_that_a_target_does_not_follow_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = TARGET.pipeline(NullOptions())
    rest = tuple(stage for stage in whole.stages if stage.name not in ("source", "scheduled"))
    ignoring = Pipeline((Stage("source"), Stage("scheduled"), *rest))
    monkeypatch.setattr(NullTarget, "pipeline", lambda *_: ignoring)
    x = O.tensor((8,), name="x")
    with O.graph() as gb:
        O.relu(x, name="y")
    with pytest.raises(
        UserError, match="the schedule of y is not followed: target 'null' does not"
    ):
        prepare(gb.graph, "null", schedule={"y": {"i": "unroll:2"}}).stage_text("scheduled")
    prepare(gb.graph, "null").stage_text("scheduled")

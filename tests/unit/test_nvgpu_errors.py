# SPDX-License-Identifier: Apache-2.0
"""Messages of errors between a graph and a GPU. The driver is a stand-in.

A missing assembler and code that it refuses are in `test_nvgpu_artifact.py`, kernels that do not
end in `test_nvgpu_watchdog.py`, faults on the simulator in `test_nvgpu_faults.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import xtc
import xtc.ops as O
from tests.unit.nvgpu_stand_in import kernel_code, stand_in
from xtc.core.errors import ArtifactError, DeviceNotFound, LaunchError, UserError
from xtc.driver import prepare
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("collected")]


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return stand_in(tmp_path, monkeypatch)


@pytest.fixture
def device(library: Path) -> Iterator[NvgpuDevice]:
    with NvgpuDevice(NvgpuOptions("hw", driver_library=library)) as gpu:
        yield gpu


def one_operator() -> xtc.Graph:
    x = O.tensor((8,), name="X")
    with O.graph(name="f") as graph:
        O.relu(x, name="Y")
    return graph.graph


def test_ptx_refused_by_the_driver_is_reported(
    device: NvgpuDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAND_IN_FAILS", "cuModuleLoadDataEx=218")
    with pytest.raises(ArtifactError) as error:
        xtc.compile(one_operator(), target=device, cubins="none")
    assert str(error.value) == (
        "nvgpu0: loading device code: CUDA_ERROR_INVALID_PTX\n"
        "  note: what the driver says of it\n"
        "  note: ptxas: line 1: no such instruction"
    )
    assert device.memory_info()[0] == 0


def test_a_missing_driver_is_reported() -> None:
    config = NvgpuOptions("hw", driver_library="libcuda-that-is-not.so.1")
    with xtc.compile(one_operator(), target=NvgpuDevice(config)) as module:
        assert module.artifact  # built, as that needs no GPU
        with pytest.raises(DeviceNotFound) as error:
            module.check()
    assert str(error.value) == (
        "NVIDIA's driver cannot be loaded: libcuda-that-is-not.so.1: cannot open shared object "
        "file: No such file or directory\n"
        "  hint: platform='sim' needs no GPU"
    )


def test_a_gpu_of_another_architecture_is_refused(library: Path) -> None:
    config = NvgpuOptions("hw", device_index=1, driver_library=library)
    with xtc.compile(one_operator(), target=NvgpuDevice(config)) as module:
        assert module.artifact  # built, as that needs no GPU
        with pytest.raises(DeviceNotFound) as error:
            module.check()
    assert str(error.value) == (
        "GPU 1 has compute capability 8.6, and code for sm_90a needs 9.0\n"
        "  hint: platform='sim' needs no GPU"
    )


def test_code_for_another_architecture_is_refused(device: NvgpuDevice, tmp_path: Path) -> None:
    old = NvgpuDevice(NvgpuOptions("hw", arch="sm_80"))
    folder = tmp_path / "artifact"
    folder.mkdir()
    prepare(one_operator(), target=old, cubins="none").build(folder)
    with pytest.raises(ArtifactError) as error:
        xtc.load(folder, device)
    assert str(error.value) == "the code was compiled for arch sm_80, and nvgpu0 has sm_90a"


def test_blocks_with_too_many_threads_are_refused(device: NvgpuDevice) -> None:
    with pytest.raises(LaunchError) as error:
        device.get_module_function(device.load_module(kernel_code()), "crowded")
    assert str(error.value) == (
        "nvgpu0: kernel 'crowded' has blocks of 2048 threads, and at most 1024 of it fit on the GPU"
    )
    with pytest.raises(UserError, match="block_threads=2048 is not a whole number from 1 to 1024"):
        xtc.compile(one_operator(), target=device, block_threads=2048)


def test_blocks_with_too_much_shared_memory_are_refused(device: NvgpuDevice) -> None:
    with pytest.raises(LaunchError) as error:
        device.get_module_function(device.load_module(kernel_code()), "greedy")
    assert str(error.value) == (
        "nvgpu0: kernel 'greedy' needs 232500 bytes of shared memory, and a block has at most "
        "232448"
    )

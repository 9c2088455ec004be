# SPDX-License-Identifier: Apache-2.0
"""One GPU kernel for every size of a dimension: the host computes the grid of each launch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.unit.nvgpu_stand_in import kernel_code, log, stand_in
from xtc.core import discover
from xtc.driver.assignment import DeviceCode
from xtc.driver.device_images import build_devices
from xtc.driver.offloaded import load_artifact
from xtc.driver.whole_pipeline import whole_pipeline
from xtc.interfaces.artifact import Argument, Artifact
from xtc.interfaces.target import BuildRequest
from xtc.ir.pipeline import PartitionSteps, PassRunner, run_steps
from xtc_passes.offload.insert_transfers import InsertTransfers
from xtc_passes.offload.separate_devices import SeparateDevices
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("collected")]

COLUMNS, MOST_ROWS = 3, 2000
SOURCE = """
func.func private @scale.nvgpu0.0(%rows: index, %factor: f32, %last: i32, %base: memref<f32>)
    attributes {xtc.device = "nvgpu0", xtc.results = 1} {
  %a = memref.reinterpret_cast %base to offset: [0], sizes: [%rows, 3], strides: [3, 1]
    : memref<f32> to memref<?x3xf32, strided<[3, 1]>>
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>],
                  iterator_types = ["parallel", "parallel"]}
      outs(%a : memref<?x3xf32, strided<[3, 1]>>) {
  ^bb0(%x: f32):
    %y = arith.mulf %x, %factor : f32
    %n = arith.sitofp %last : i32 to f32
    %z = arith.addf %y, %n : f32
    linalg.yield %z : f32
  }
  return
}
func.func @scale(%size: memref<1xi64>, %a: memref<f32> {memref.on_device = "nvgpu0"}) {
  %zero = arith.constant 0 : index
  %n = memref.load %size[%zero] : memref<1xi64>
  %rows = arith.index_cast %n : i64 to index
  %factor = arith.constant 2.0 : f32
  %last = arith.constant -5 : i32
  call @scale.nvgpu0.0(%rows, %factor, %last, %a) {xtc.device = "nvgpu0"}
    : (index, f32, i32, memref<f32>) -> ()
  return
}
"""
ARGUMENTS = (
    Argument("size", "int64", (1,), "input"),
    Argument("a", "float32", (MOST_ROWS, COLUMNS), "output", "nvgpu0"),
)


def built(folder: Path, **options: object) -> Artifact:
    """The artifact of `scale`."""
    from xtc.ir.mlir import Context, Module

    host, gpu = discover.target("host"), discover.target("nvgpu")
    devices = {"nvgpu0": DeviceCode(gpu, gpu.options(**options))}
    host_options = host.options()
    request = BuildRequest("scale", ARGUMENTS, {}, 0)
    with Context():
        module = Module.parse(SOURCE).operation
        kernels = PartitionSteps(
            "nvgpu0", devices["nvgpu0"].pipeline.steps("bufferized", "offloaded")
        )
        run_steps(
            module, [InsertTransfers(("nvgpu0",)), "canonicalize", SeparateDevices(), kernels]
        )
        pipeline = whole_pipeline(host.pipeline(host_options), devices).after("offloaded")
        PassRunner().run(module, pipeline)
        request = build_devices(module, request, devices, folder)
        artifact: Artifact = host.build(module, request, host_options, folder)
    return artifact


@pytest.fixture
def device() -> Iterator[NvgpuDevice]:
    with NvgpuDevice() as opened:
        yield opened


def test_one_image_computes_every_size(tmp_path: Path, device: NvgpuDevice) -> None:
    artifact = built(tmp_path)
    (kernel,) = artifact.manifest.offload.kernels
    assert kernel.types == ("int64", "float32", "int32", "address")
    host = discover.target("host")
    with host.runtime(host.options()) as runtime:
        module, unload = load_artifact(artifact, runtime, {"nvgpu0": device})
        for rows in (1, 85, 86, 256, 1999):
            values = np.arange(MOST_ROWS * COLUMNS, dtype=np.float32).reshape(MOST_ROWS, COLUMNS)
            array, size = device.array(values), np.array([rows], np.int64)
            before = device.counters()["nvgpu.BLOCKS"]
            module.bind([size.ctypes.data, array.address])()
            assert device.counters()["nvgpu.BLOCKS"] - before == -(-rows * COLUMNS // 256)
            expected = np.concatenate([values[:rows] * 2 - 5, values[rows:]])
            np.testing.assert_array_equal(array.numpy(), expected)
        unload()


def test_a_gpu_gets_the_grid_that_the_host_computes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    artifact = built(tmp_path, platform="hw", cubins="none")
    text = next(tmp_path.glob("*.ptx")).read_text()
    assert "scale_nvgpu0_0_launch[32] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0" in text
    assert artifact.manifest.offload.kernels[0].types[1] == "float32"
    library = stand_in(tmp_path, monkeypatch)
    with NvgpuDevice(NvgpuOptions(platform="hw", driver_library=library)) as device:
        scale = device.get_module_function(device.load_module(kernel_code()), "scale")
        device.launch(scale, [device.zeros(8, "int32"), 8, 2], grid=[7, 2])
    assert "launch 7,2,1 64,1,1 0 kernels" in log(library)

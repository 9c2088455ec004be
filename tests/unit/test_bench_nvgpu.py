# SPDX-License-Identifier: Apache-2.0
"""The GPU's benchmarks go through on a stand-in driver, whose kernels compute nothing: each table
is there, and what is printed comes from the device's clock."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks import nvgpu, nvgpu_clock, nvgpu_examples, nvgpu_rows, nvgpu_tiles
from tests.unit.nvgpu_stand_in import log, stand_in
from tests.unit.nvgpu_torch import fake_torch, no_torch
from xtc import tile
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "darwin", reason="no NVIDIA GPU has a driver for macOS"),
]


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The stand-in where benchmarks look for a GPU, small sizes, one schedule of each kernel."""
    library = stand_in(tmp_path, monkeypatch)
    options = NvgpuOptions("hw", driver_library=library, cubins="none")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(nvgpu, "unavailable", lambda: None)
    monkeypatch.setattr(nvgpu, "first_gpu", lambda: options)
    monkeypatch.setattr(nvgpu, "ROUNDS", 2)
    monkeypatch.setattr(nvgpu_clock, "ROUNDS", 2)
    for module in (nvgpu, nvgpu_rows):
        monkeypatch.setattr(module, "ROWS", 128)
        monkeypatch.setattr(module, "COLUMNS", 64)
    monkeypatch.setattr(nvgpu_tiles, "ROWS", (16,))
    monkeypatch.setattr(nvgpu_tiles, "WIDTH", 128)
    monkeypatch.setattr(nvgpu_tiles, "CUBES", (256,))
    monkeypatch.setattr(nvgpu_examples, "NAMES", ["vector_add"])
    for kernel in (nvgpu_rows.Add, nvgpu_rows.Soft, nvgpu_rows.Norm, nvgpu_tiles.Matmul):
        first = tuple((names, rows[:1]) for names, rows in kernel._tuning)
        monkeypatch.setattr(kernel, "_tuning", first)
    return library


def test_every_table_is_measured(
    library: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    checked: list[str] = []
    monkeypatch.setattr(nvgpu_rows, "check", lambda name, *_: checked.append(name))
    monkeypatch.setattr(nvgpu_tiles, "check", lambda *_: checked.append("matmul"))
    monkeypatch.setitem(sys.modules, "torch", no_torch())
    nvgpu.main()
    said = capsys.readouterr().out
    assert "GPU 0, stand-in 0, code for sm_90a" in said
    for dtype in ("float16", "bfloat16"):
        assert f"{dtype} 16 x 128 x 128: " in said
        assert f"{dtype} 256 x 256 x 256: " in said
    for row in ("vector add: ", "softmax: ", "layer_norm: ", "relu: ", "sums of rows: "):
        assert row in said
    assert "vector_add" in said
    assert "right" in said
    assert "WRONG" in said  # the stand-in computes nothing, and that is seen
    assert checked == ["matmul"] * 4 + ["vector add", "softmax", "layer_norm"]
    assert "modelled" not in said
    found = json.loads(Path("out/bench-tile-softmax.json").read_text())
    assert found["facts"]["gpu"] == "stand-in 0"
    assert log(library)[-1].endswith("0 streams, 0 events, 0 modules, 0 allocations")


def test_a_wrong_result_ends_the_benchmark(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", no_torch())
    with pytest.raises(AssertionError):
        nvgpu.main()


def test_products_take_turns_with_those_of_the_library(
    library: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "torch", fake_torch(library, 77))
    monkeypatch.setattr(nvgpu_tiles, "CUBES", ())
    options = NvgpuOptions("hw", driver_library=library, cubins="none")
    with NvgpuDevice(options) as device:
        tile.use_device(device)
        try:
            nvgpu_tiles.measured(device)
        finally:
            tile.use_device(None)
    said = capsys.readouterr().out
    assert "% of cuBLAS" in said
    ordered = [line for line in log(library) if line.endswith("stream 77")]
    assert not any("wait for all" in line for line in log(library))
    # A sample: the cache is overwritten, then a mark, what is measured, and a mark.
    at = ordered.index("mark stream 77")
    kinds = [line.split()[0] for line in ordered[at - 1 : at + 3]]
    assert kinds[:2] == ["fill", "mark"]
    assert kinds[2] in ("launch", "copy_within")
    assert kinds[3] == "mark"

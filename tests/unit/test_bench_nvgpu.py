# SPDX-License-Identifier: Apache-2.0
"""The GPU's benchmarks run on a stand-in driver whose kernels compute nothing.

Every table is printed, with times of the device's clock.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks import (
    nvgpu,
    nvgpu_clock,
    nvgpu_examples,
    nvgpu_process,
    nvgpu_rows,
    nvgpu_tiles,
)
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
    *names, example = sorted(nvgpu.rows(), key=lambda name: name.startswith("example"))
    nvgpu.measure(names, Path("rows"))
    nvgpu.measure([example], Path("rows"))
    said = capsys.readouterr().out
    ended = [json.loads(line) for line in Path("rows").read_text().splitlines()][1::2]
    assert [each["row"] for each in ended if each["cause"]] == ["example vector_add"]
    assert len(ended) == len(nvgpu.rows())
    for dtype in ("float16", "bfloat16"):
        assert f"{dtype} 16 x 128 x 128: " in said
        assert f"{dtype} 256 x 256 x 256: " in said
    for row in ("vector add: ", "softmax: ", "layer_norm: ", "relu: ", "sums of rows: "):
        assert row in said
    # The stand-in computes nothing, so results are reported as wrong.
    assert "vector_add: on the simulator right, on the GPU WRONG" in said
    assert checked == ["matmul"] * 4 + ["vector add", "softmax", "layer_norm"]
    assert "modelled" not in said
    found = json.loads(Path("out/bench-tile-softmax.json").read_text())
    assert found["facts"]["gpu"] == "stand-in 0"
    assert log(library)[-1].endswith("0 streams, 0 events, 0 modules, 0 allocations")


def test_a_wrong_result_fails_its_row(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", no_torch())
    nvgpu.measure(["tile softmax", "tile layer_norm"], Path("rows"))
    begun, ended = map(json.loads, Path("rows").read_text().splitlines())
    assert begun["row"] == ended["row"] == "tile softmax"
    assert ended["cause"].startswith("AssertionError")


ROWS = f"""
import os, sys, time
from pathlib import Path
sys.path.insert(0, {str(Path(nvgpu.__file__).parents[1])!r})
from benchmarks.nvgpu_process import run_rows
def bad():
    raise ValueError("not right")
rows = {{"good": int, "bad": bad, "dies": lambda: os._exit(7), "last": int,
        "hangs": lambda: time.sleep(60)}}
run_rows(rows, sys.argv[2:], Path(sys.argv[1]))
"""


def test_failing_rows_do_not_affect_other_rows(tmp_path: Path) -> None:
    script = tmp_path / "rows.py"
    script.write_text(ROWS)
    command = [sys.executable, str(script)]
    assert nvgpu_process.conduct(command, ["good", "bad", "dies", "last"], 60) == {
        "bad": "ValueError: not right",
        "dies": "its process ended with status 7",
    }
    late = "no time was left"
    assert nvgpu_process.conduct(command, ["hangs", "good"], 3) == {"hangs": late, "good": late}
    command = [sys.executable, "-c", "1 / 0"]
    how = "its process ended with status 1"
    assert nvgpu_process.conduct(command, ["good", "last"], 60) == {"good": how, "last": how}


def test_matmuls_alternate_with_those_of_the_library(
    library: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "torch", fake_torch(library, 77))
    monkeypatch.setattr(nvgpu_tiles, "CUBES", ())
    options = NvgpuOptions("hw", driver_library=library, cubins="none")
    with NvgpuDevice(options) as device:
        tile.use_device(device)
        try:
            for row in nvgpu_tiles.rows().values():
                row(device)
        finally:
            tile.use_device(None)
    said = capsys.readouterr().out
    assert "% of cuBLAS" in said
    ordered = [line for line in log(library) if line.endswith("stream 77")]
    assert not any("wait for all" in line for line in log(library))
    # A sample: overwrite the cache, record an event, run, record an event.
    kinds = " ".join(line.split()[0] for line in ordered)
    for measured in ("launch", "copy_within"):
        assert f"fill mark {measured} mark" in kinds

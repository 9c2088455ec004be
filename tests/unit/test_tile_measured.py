# SPDX-License-Identifier: Apache-2.0
"""Candidates are measured on a GPU, in a process that may die.

The driver is a stand-in: kernels take a microsecond for each block of 128 threads.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.nvgpu_stand_in import log, stand_in
from tests.unit.tile_kernels import VectorAdd
from xtc import tile
from xtc.cli.tune_report import results_text
from xtc.core.errors import ChildDied, DeviceFault
from xtc.search.store import Store
from xtc.system.cache import configured_cache
from xtc.system.cache.fingerprint import CodeFingerprint
from xtc.system.sandbox import Workers
from xtc.tile.launch.code import IMAGE
from xtc.tile.timing import spread
from xtc.tile.tuning import measured
from xtc.tile.tuning import ranking as tuning
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "darwin", reason="no NVIDIA GPU has a driver for macOS"),
]


@tile.autotune("block", [64, 256, 1024])
class Tuned(VectorAdd):
    """Its grids for 1,000 elements have 16, 4 and 1 blocks."""


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NvgpuDevice]:
    """A GPU, an empty cache, and workers that use the same driver."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XTC_CACHE", "1")
        patch.setenv("XTC_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("XTC_TUNING_DB", str(tmp_path_factory.mktemp("tuning") / "tuning.db"))
        library = stand_in(tmp_path_factory.mktemp("driver"), patch)
        workers = Workers("xtc.tile.tuning.measure_worker")
        patch.setattr(measured, "_workers", workers)
        # Nothing is stored if a file of this project changes in the meantime.
        patch.setattr(CodeFingerprint, "unchanged", lambda _: True)
        # Compiled in this process, because the workers have tests and take long to start.
        patch.setattr(tuning, "_compiled", lambda kernel: {IMAGE: kernel.image})
        with NvgpuDevice(NvgpuOptions("hw", driver_library=library, cubins="none")) as gpu:
            yield gpu
        workers.close()


def arrays(device: NvgpuDevice) -> list[Any]:
    return [device.array(np.ones(3000, np.float32)) for _ in "xyz"]


def log_file(device: NvgpuDevice) -> str:
    return str(Path(device.options.driver_library).parent / "log")


def lines(device: NvgpuDevice, word: str) -> list[str]:
    return [line for line in log(Path(device.options.driver_library)) if line.startswith(word)]


def test_candidates_are_measured_alternately_with_a_cold_cache(device: NvgpuDevice) -> None:
    given = arrays(device)
    ranked: Any = Tuned().candidates(1000, *given)
    assert [each.parameters["block"] for each in ranked] == [1024, 256, 64]
    assert [each.how for each in ranked] == ["measured"] * 3
    seconds = [each.seconds for each in ranked]
    assert seconds == pytest.approx([1e-6, 4e-6, 16e-6])
    assert [len(each.samples) for each in ranked] == [5, 5, 5]
    assert str(ranked[0]) == "block=1024: 1 us (measured)"
    flushes = [line for line in lines(device, "fill 0 ") if line.endswith("kernels")]
    assert set(flushes) == {f"fill 0 {100 << 20} kernels"}
    assert len(flushes) >= 2 + 15  # before each sample
    grids = [line.split()[1] for line in lines(device, "launch")]
    assert grids[:3] == ["16,1,1", "4,1,1", "1,1,1"]  # each once first
    assert grids[3:12] == [*["16,1,1"] * 3, *["4,1,1"] * 3, *["1,1,1"] * 3]  # by the host's clock
    rounds = [grids[at : at + 3] for at in range(12, 27, 3)]
    assert all(sorted(each) == ["1,1,1", "16,1,1", "4,1,1"] for each in rounds)
    assert len({tuple(each) for each in rounds}) > 1
    # The choice is stored for this GPU, and for arrays on it.
    assert Tuned().compile(1000, *given).schedule == {"block": 1024}
    launches = len(lines(device, "launch"))
    assert Tuned().compile(1000, *given).schedule == {"block": 1024}
    assert len(lines(device, "launch")) == launches


def test_candidates_that_fault_or_crash_are_listed_with_their_causes(device: NvgpuDevice) -> None:
    Path(log_file(device) + ".grids").write_text("fault 3\ncrash 47\n")
    given = arrays(device)
    ranked: Any = Tuned().candidates(3000, *given)
    errors = {each.parameters["block"]: each.error for each in ranked}
    assert ranked[0].parameters == {"block": 256}
    assert ranked[0].seconds == pytest.approx(12e-6)
    assert {block: type(error) for block, error in errors.items() if error} == {
        64: ChildDied,
        1024: DeviceFault,
    }
    assert "measuring the kernel crashed: the process" in str(errors[64])
    assert "CUDA_ERROR_ILLEGAL_ADDRESS" in str(errors[1024])
    # The caller's process is unaffected, and no choice is stored.
    entries = len(configured_cache().entries())
    assert Tuned().compile(3000, *given).schedule == {"block": 256}
    assert len(configured_cache().entries()) == entries
    assert given[0].numpy().tolist() == [1.0] * 3000


def test_a_hanging_candidate_is_killed_and_the_others_are_measured(
    device: NvgpuDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measured, "LIMITS", replace(measured.LIMITS, seconds=4.0))
    grids = Path(log_file(device) + ".grids")
    grids.write_text("hang 20\n")
    try:
        given = arrays(device)
        chosen: Any = Tuned().compile(5000, *given)
    finally:
        grids.unlink()
    assert chosen.schedule == {"block": 1024}
    with Store(create=False) as store:
        run = store.run()
        results = {each.schedule: each for each in store.results(run.number)}
        listed = results_text(run, list(results.values())).splitlines()
    assert (run.name, run.finished, run.machine) == ("Tuned", False, device.device_chip)
    assert results["block=256"].status == "timeout"
    assert "measuring the kernel took longer than" in results["block=256"].message
    assert results["block=64"].samples == pytest.approx([79e-6] * 5)
    assert listed[0].startswith("run ")
    assert listed[1] == "  5 us  block=1024"
    assert listed[-1].startswith("  timeout  block=256: measuring the kernel took longer than ")


def test_without_arrays_nothing_is_measured(device: NvgpuDevice) -> None:
    device.init_device()
    before = len(lines(device, "launch"))
    tile.use_device(device)
    try:
        ranked: Any = Tuned().candidates(1000, None, None, None)
    finally:
        tile.use_device(None)
    assert [each.how for each in ranked] == ["modelled"] * 3
    assert len(lines(device, "launch")) == before


def test_outliers_are_ignored() -> None:
    assert spread([1.0, 1.0, 1.01, 1.0, 50.0]) < 0.02
    assert spread([1.0, 2.0, 3.0]) > 0.02

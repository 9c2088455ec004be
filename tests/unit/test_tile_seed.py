# SPDX-License-Identifier: Apache-2.0
"""The asynchronous matmul of the seed document runs with its imports changed."""

from __future__ import annotations

import ast
import math
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.unit.nvgpu_stand_in import log, stand_in
from tests.unit.nvgpu_torch import fake_torch
from tests.unit.tile_seed import DOCUMENT, document, kernel_module, script
from xtc.tile import config
from xtc.tile.interpreter.report import RaceError
from xtc_targets.nvgpu import build, hardware

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(document() is None, reason=f"there is no shared/seeds/{DOCUMENT} here"),
]
SCHEDULE = {"num_warps": 4, "block_m": 64, "block_n": 64, "block_k": 16}


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    return kernel_module(tmp_path_factory.mktemp("seed"))


def operands(m: int, n: int, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(m)
    a = ((rng.random((m, k)) - 0.5) / math.sqrt(k)).astype(np.float16)
    b = ((rng.random((k, n)) - 0.5) / math.sqrt(k)).astype(np.float16)
    return a, b, np.full((m, n), np.nan, np.float16)


@pytest.mark.parametrize(("m", "n", "k"), [(129, 234, 456), (128, 128, 128)])
def test_it_computes_the_product(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch, m: int, n: int, k: int
) -> None:
    monkeypatch.setattr(module.MatmulV3, "debug_schedule", SCHEDULE)
    a, b, c = operands(m, n, k)
    expected = a.astype(np.float32) @ b.astype(np.float32)
    kernel = module.MatmulV3()
    kernel(m, n, k, a, b, c)
    np.testing.assert_allclose(c, expected, atol=2e-5, rtol=2e-3)
    c[:] = np.nan
    report = kernel.check(m, n, k, a, b, c)
    np.testing.assert_allclose(c, expected, atol=2e-5, rtol=2e-3)
    assert report.counts["sync"] == 2 * report.counts["dot"]


def test_every_schedule_compiles(module: ModuleType) -> None:
    a, b, c = operands(64, 64, 64)
    ranked = module.MatmulV3().candidates(64, 64, 64, a, b, c)
    assert len(ranked) == 12
    assert [str(each.error) for each in ranked if each.error] == []
    assert " us (modelled)" in str(ranked[0])


@pytest.mark.parametrize(
    ("removed", "kind", "line"),
    [
        ("self.copy_async_wait_all()", "read before wait", "a = self.load_shared(sa)"),
        ("self.sync()", "missing sync", "a = self.load_shared(sa)"),
        ("last self.sync()", "missing sync", "self.copy_async(src=ga, dst=sa"),
    ],
)
def test_missing_parts_are_named(tmp_path: Path, removed: str, kind: str, line: str) -> None:
    lines = Path(kernel_module(tmp_path).__file__ or "").read_text().splitlines()
    places = [at for at, text in enumerate(lines) if text.strip() == removed.removeprefix("last ")]
    del lines[places[-1 if removed.startswith("last") else 0]]
    mutant = tmp_path / "mutant.py"
    mutant.write_text("\n".join(lines) + "\n")
    names: dict[str, type] = {}
    exec(compile(mutant.read_text(), str(mutant), "exec"), names)  # noqa: S102
    kernel = names["MatmulV3"]
    kernel.debug_schedule = SCHEDULE  # type: ignore[attr-defined]
    m, n, k = 64, 64, 48
    with pytest.raises(RaceError) as caught:
        kernel().check(m, n, k, *operands(m, n, k))
    assert caught.value.kind == kind
    number = int(caught.value.second.split(":")[1])
    assert lines[number - 1].strip().startswith(line)


def test_the_whole_script_prints_its_table_on_a_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Driver, PyTorch and pandas are stand-ins; the kernel is compiled, and timed by the driver."""
    pandas: Any = ModuleType("pandas")
    pandas.DataFrame = lambda rows, columns: [dict(zip(columns, row, strict=True)) for row in rows]
    monkeypatch.setitem(sys.modules, "pandas", pandas)
    library = stand_in(tmp_path, monkeypatch)
    monkeypatch.setattr(hardware, "LIBRARY", str(library))
    monkeypatch.setattr(build, "find", lambda _: None)
    monkeypatch.setitem(sys.modules, "torch", fake_torch(library, 77))
    program = script(tmp_path)
    monkeypatch.setattr(program.MatmulV3, "debug_schedule", SCHEDULE)
    try:
        program.main()
    finally:
        config.close_default()
    table = ast.literal_eval(capsys.readouterr().out)
    assert [row["name"] for row in table] == ["torch", "tilus"]
    launches = [line for line in log(library) if line.startswith("launch")]
    blocks, threads = (int(launches[0].split()[at].split(",")[0]) for at in (1, 2))
    latency = blocks * threads / 128 * 1e-3  # by the stand-in's clock
    assert table[1]["latency (ms)"] == pytest.approx(latency)
    assert table[1]["gflops"] == pytest.approx(2 * 4096**3 / latency * 1e-9)
    assert len(launches) == 1 + 5 + 3 + 20  # a first launch, warm-up, the host's time, samples
    assert {line.split()[-1] for line in launches} == {"77"}
    assert "wait for all" not in log(library)

# SPDX-License-Identifier: Apache-2.0
"""Programs without races give the same results under every seed of shuffled tasks and PEs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.unit.csl_support import run_here
from xtc_targets.wse.build import Request, compile_program

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parents[2] / "tests" / "filecheck" / "targets" / "wse" / "run"
PROGRAMS = ("routes", "collectives", "teardown", "switches", "filters", "fifos", "control")
PARTS = re.compile(r"^#--- (\S+)\n(.*?)(?=^#--- |\Z)", re.MULTILINE | re.DOTALL)
RUN = re.compile(
    r"RUN: cslc layout.csl -o w3 --arch=wse3(?P<given>.*?) && .*?drive.py w3 (?P<words>.*?) \|"
)


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_order_gives_the_same(
    name: str,
    tmp_path: Path,
    pytestconfig: pytest.Config,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = (FOLDER / f"{name}.test").read_text()
    for file, part in PARTS.findall(text):
        (tmp_path / file).write_text(part)
    run = RUN.search(text)
    assert run is not None
    given = dict(re.findall(r"--params=(\w+):(\w+)", run["given"]))
    compile_program(Request(tmp_path / "layout.csl", tmp_path / "w3", params=given))
    drive = [str(FOLDER / "Inputs" / "drive.py"), "w3", *run["words"].split()]
    run_here(drive, tmp_path, monkeypatch)
    ordered = capsys.readouterr().out
    assert ordered
    for seed in range(1, (50 if pytestconfig.getoption("--long") else 2) + 1):
        run_here(drive, tmp_path, monkeypatch, schedule="shuffled", seed=seed)
        assert capsys.readouterr().out == ordered, f"seed {seed}"

# SPDX-License-Identifier: Apache-2.0
"""Programs without races give the same results under every seed of shuffled tasks and PEs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.unit.csl_support import command
from xtc_targets.wse.build import Request, compile_program

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parents[2] / "tests" / "filecheck" / "targets" / "wse" / "run"
PROGRAMS = ("routes", "collectives", "teardown", "switches", "filters", "fifos", "control")
PARTS = re.compile(r"^#--- (\S+)\n(.*?)(?=^#--- |\Z)", re.MULTILINE | re.DOTALL)
RUN = re.compile(
    r"RUN: cslc layout.csl -o w3 --arch=wse3(?P<given>.*?) && .*?drive.py w3 (?P<words>.*?) \|"
)


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_order_gives_the_same(name: str, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    text = (FOLDER / f"{name}.test").read_text()
    for file, part in PARTS.findall(text):
        (tmp_path / file).write_text(part)
    run = RUN.search(text)
    assert run is not None
    given = dict(re.findall(r"--params=(\w+):(\w+)", run["given"]))
    compile_program(Request(tmp_path / "layout.csl", tmp_path / "w3", params=given))
    drive = [str(FOLDER / "Inputs" / "drive.py"), "w3", *run["words"].split()]
    ordered = command("cs_python", *drive, cwd=tmp_path)
    assert ordered.returncode == 0, ordered.stderr
    seeds = 50 if pytestconfig.getoption("--long", default=False) else 2
    for seed in range(1, seeds + 1):
        options = ("--schedule=shuffled", f"--seed={seed}")
        shuffled = command("cs_python", *options, *drive, cwd=tmp_path)
        assert shuffled.stdout == ordered.stdout, f"seed {seed}: {shuffled.stderr}"

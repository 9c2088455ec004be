# SPDX-License-Identifier: Apache-2.0
"""Programs without races give equal results for every seed of shuffled tasks and PEs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.unit.csl_support import run_here
from xtc_targets.wse.sdk import cslc

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parents[2] / "tests" / "filecheck" / "targets" / "wse" / "run"
RACES = ("races",)
"""Tests whose programs have one on purpose."""
BY_DEFAULT = ("routes", "teardown", "control")
SEEDS, SEEDS_BY_DEFAULT = 50, 2
PARTS = re.compile(r"^#--- (\S+)\n(.*?)(?=^#--- |\Z)", re.MULTILINE | re.DOTALL)
RUN = re.compile(
    r"RUN: cslc (?P<options>layout\.csl [^&]*) && cs_python \S+/drive\.py (?P<words>[^|\n]+) \|"
)


class Case(NamedTuple):
    """A program of a lit test, as its RUN line compiles and drives it."""

    test: str
    options: str
    words: str


CASES = [
    Case(path.stem, run["options"], run["words"].strip())
    for path in sorted(FOLDER.glob("*.test"))
    if path.stem not in RACES
    for run in RUN.finditer(path.read_text())
]


def test_every_kind_of_program_is_covered() -> None:
    drives = {path.stem for path in FOLDER.glob("*.test") if RUN.search(path.read_text())}
    assert {case.test for case in CASES} == drives - set(RACES)
    assert set(BY_DEFAULT) <= drives


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.test}: {case.options}")
def test_every_order_gives_equal_results(
    case: Case,
    tmp_path: Path,
    pytestconfig: pytest.Config,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    long = pytestconfig.getoption("--long")
    if not long and not (case.test in BY_DEFAULT and "wse3" in case.options):
        pytest.skip("runs with --long")
    for file, part in PARTS.findall((FOLDER / f"{case.test}.test").read_text()):
        path = tmp_path / ("more/inner" if file == "own.csl" else "") / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(part)
    monkeypatch.chdir(tmp_path)
    assert cslc.main(case.options.split()) == 0
    drive = [str(FOLDER / "Inputs" / "drive.py"), *case.words.split()]
    capsys.readouterr()
    run_here(drive, tmp_path, monkeypatch)
    ordered = capsys.readouterr().out
    assert ordered
    for seed in range(1, (SEEDS if long else SEEDS_BY_DEFAULT) + 1):
        run_here(drive, tmp_path, monkeypatch, schedule="shuffled", seed=seed)
        assert capsys.readouterr().out == ordered, f"seed {seed}"

# SPDX-License-Identifier: Apache-2.0
"""docs/tuning.md: its program runs, its strategy is valid, and its tables are complete."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.test_search_strategy import space_of
from xtc.cli import plot
from xtc.cli.tune import _parser
from xtc.core.errors import UserError
from xtc.search import STATUSES
from xtc.search.builtin import NAMES
from xtc.search.samplers import SAMPLERS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "tuning.md").read_text()


def blocks(kind: str) -> list[str]:
    """The fenced blocks of that kind, in order."""
    return re.findall(rf"^```{kind}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def rows(heading: str) -> set[str]:
    """The code in the first column of the table below a line that contains `heading`."""
    after = PAGE.split(heading, 1)[1].split("\n\n", 1)[0]
    return {name for line in after.splitlines() for name in re.findall(r"^\| `(.*?)`", line)}


@pytest.mark.slow
def test_the_program_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XTC_TUNING_DB", str(tmp_path / "tuning.db"))
    (program,) = blocks("python")
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert not done.stdout.strip() or done.stdout.startswith('"C": [')


def test_the_strategies_are_valid() -> None:
    for text in blocks("yaml"):
        assert space_of(text).names


def test_the_error_is_printed_as_shown() -> None:
    (shown,) = (text for text in blocks("text") if text.startswith("mine.yaml"))
    what = re.escape(shown.splitlines()[0].split(": ", 1)[1])
    with pytest.raises(UserError, match=what):
        space_of(blocks("yaml")[0].replace("iR * jR <= (REGISTERS - 4)", "iT * jR <= 28"))


def test_tables_are_complete() -> None:
    assert rows("| status |") == set(STATUSES)
    assert rows("| `--strategy` |") == {*NAMES, "FILE.yaml"}
    assert rows("| `--sampler` |") == set(SAMPLERS)
    assert rows("| plot |") == set(plot.PLOTS)


def test_every_option_is_documented() -> None:
    usual = {"--help", "--quiet", "--target", "--dim", "--option", "--seed", "--value"}
    actions = [*_parser()._actions, *plot._parser()._actions]
    options = {name for action in actions for name in action.option_strings}
    long = {name for name in options if name.startswith("--")} - usual
    assert {name for name in long if name not in PAGE} == set()

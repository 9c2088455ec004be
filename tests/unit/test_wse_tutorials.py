# SPDX-License-Identifier: Apache-2.0
"""Public tutorials of the vendor's SDK, read from a folder beside the repository."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.unit.csl_support import run_here
from xtc_targets.wse.sdk import cslc

ROOT = Path(__file__).parents[2]
FOLDERS = [folder / "shared" / "seeds" for folder in (ROOT.parent, ROOT.parent.parent)]
SEEDS = next((folder for folder in FOLDERS if folder.is_dir()), FOLDERS[0])
BEGINNINGS = {
    "layout.csl": r"const memcpy = @import",
    "pe_program.csl": r"param memcpy_params",
    "run.py": r"#!/usr/bin",
}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not SEEDS.is_dir(), reason=f"the tutorials' pages are not in {SEEDS}"),
]


def files_of(page: str) -> dict[str, str]:
    """The programs of a page: each from its first line to the fence or the next prose."""
    found = {}
    for name, beginning in BEGINNINGS.items():
        match = re.search(beginning, page)
        assert match is not None, name
        text = page[match.start() :]
        end = re.search(r"\n(```|As described|Notice that we no|This code introduces)", text)
        assert end is not None, name
        found[name] = text[: end.start()]
    return found


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("number", ["000", "001"])
def test_the_memcpy_gemv_of_both_dialects(
    number: str,
    arch: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (page,) = SEEDS.glob(f"{number}_*.txt")
    for name, text in files_of(page.read_text()).items():
        (tmp_path / name).write_text(text)
    options = "--fabric-dims=8,3 --fabric-offsets=4,1 --memcpy --channels=1 -o out"
    monkeypatch.chdir(tmp_path)
    assert cslc.main(["layout.csl", *options.split(), f"--arch={arch}"]) == 0
    run_here(["run.py", "--name", "out"], tmp_path, monkeypatch)
    assert capsys.readouterr().out == "SUCCESS!\n"

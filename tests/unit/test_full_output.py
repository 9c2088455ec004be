# SPDX-License-Identifier: Apache-2.0
"""A command that cannot write its output reports this in one line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FULL = Path("/dev/full")
MODULE = Path(__file__).parents[1] / "filecheck" / "cli" / "Inputs" / "dead.mlir"


@pytest.mark.slow
@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("arguments", [[str(MODULE)], ["--list-passes"]], ids=["short", "long"])
def test_a_full_disk_is_reported(arguments: list[str]) -> None:
    command = [sys.executable, "-m", "xtc.cli.opt", *arguments]
    with FULL.open("w") as full:
        ran = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ran.returncode == 1
    assert ran.stderr == "xtc-opt: error: No space left on device\n"

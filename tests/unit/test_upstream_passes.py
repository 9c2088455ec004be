# SPDX-License-Identifier: Apache-2.0
"""The list of MLIR's passes matches the pinned version, and hints use it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import mlir  # noqa: TID251  for the place of its tools
import pytest

from xtc.core.errors import UserError
from xtc.ir.pass_text import parse_step
from xtc.ir.upstream_passes import UPSTREAM


@pytest.mark.slow
def test_the_list_is_that_of_mlir_opt() -> None:
    (tool,) = (path for place in mlir.__path__ for path in Path(place).glob("bin/mlir-opt"))
    ran = subprocess.run([tool, "--help"], capture_output=True, text=True, check=True)
    passes = ran.stdout[ran.stdout.index("Passes:") :]
    assert set(re.findall(r"^ {6}--([a-z][\w-]*)", passes, re.MULTILINE)) == UPSTREAM


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("canonicalise", "did you mean 'canonicalize'?"),
        ("func.func(csee)", "did you mean 'cse'?"),
        ("func.func(cse,loop-invarient-code-motion)", "did you mean 'loop-invariant-code-motion'?"),
        ("one-shot-bufferise{allow-unknown-ops=true}", "did you mean 'one-shot-bufferize'?"),
        ("apply-schedule", "did you mean 'apply-schedules'?"),
    ],
)
def test_a_misspelled_name_is_explained(text: str, hint: str) -> None:
    with pytest.raises(UserError, match="MLIR has no pass") as info:
        parse_step(text)
    assert info.value.hints == (hint,)

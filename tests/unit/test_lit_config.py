# SPDX-License-Identifier: Apache-2.0
"""What a RUN line of a lit test may say, and that a wrong one fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.update_checks import run_lit


def lit(suite: Path, text: str, *options: str) -> tuple[int, str]:
    """Exit code and report of one lit test."""
    test = suite / "case.test"
    test.write_text(text)
    ran = run_lit(test, *options)
    return ran.returncode, ran.stdout + ran.stderr


@pytest.mark.parametrize(
    "lines",
    [
        "RUN: echo one | FileCheck %s\nCHECK: one",
        "RUN: echo one | %FileCheck %s\nCHECK: one",
        "RUN: not %python -c 'raise SystemExit(1)'",
        "RUN: not --crash %python -c 'import os; os.abort()'",
        "RUN: %python -c 'import xtc, xtc_passes, xtc_targets'",
        "RUN: echo xtc-opt | FileCheck %s\nCHECK: -m xtc.cli.opt",
        "RUN: echo xtc-run a.py | FileCheck %s\nCHECK: -m xtc.cli.run a.py",
        "RUN: echo xtc cache list | FileCheck %s\nCHECK: -m xtc.cli.main cache list",
        "RUN: echo xtc is here | FileCheck %s\nCHECK: {{^}}xtc is here",
        "RUN: echo out/xtc-opt.txt | FileCheck %s\nCHECK: out/xtc-opt.txt",
        "REQUIRES: target-null, target-host\nRUN: echo",
    ],
)
def test_what_a_test_may_say(lit_suite: Path, lines: str) -> None:
    code, report = lit(lit_suite, lines)
    assert code == 0, report
    assert "Passed: 1" in report


@pytest.mark.parametrize(
    "lines",
    [
        "RUN: echo two | FileCheck %s\nCHECK: one",
        "RUN: echo one | FileCheck %s\n",
        "RUN: %python -c 'raise SystemExit(1)' | FileCheck %s --allow-empty\nCHECK-NOT: one",
        "RUN: not %python -c ''",
        "CHECK: a test without a RUN line",
    ],
)
def test_what_fails(lit_suite: Path, lines: str) -> None:
    code, report = lit(lit_suite, lines)
    assert code == 1, report


def test_output_and_messages_come_in_the_order_of_writing(lit_suite: Path) -> None:
    program = "import sys; print(1); print(2, file=sys.stderr); print(3)"
    checks = "CHECK: 1\nCHECK-NEXT: 2\nCHECK-NEXT: 3"
    code, report = lit(lit_suite, f"RUN: %python -c '{program}' 2>&1 | FileCheck %s\n{checks}")
    assert code == 0, report


def test_an_absent_feature_leaves_a_test_out(lit_suite: Path) -> None:
    code, report = lit(lit_suite, "REQUIRES: target-nowhere\nRUN: false")
    assert code == 0
    assert "Unsupported: 1" in report


def test_real_devices_are_named_on_the_command_line(lit_suite: Path) -> None:
    text = "REQUIRES: device-null\nRUN: echo"
    assert "Unsupported: 1" in lit(lit_suite, text)[1]
    assert "Passed: 1" in lit(lit_suite, text, "--param", "devices=null,host")[1]

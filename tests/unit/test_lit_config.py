# SPDX-License-Identifier: Apache-2.0
"""RUN lines of lit tests: supported commands, and failures of wrong ones."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tools.update_checks import run_lit

ROOT = Path(__file__).parents[2]


def lit(suite: Path, text: str, *options: str) -> tuple[int, str]:
    """Exit code and report of one lit test."""
    test = suite / "case.test"
    test.write_text(text)
    ran = run_lit(test, *options)
    return ran.returncode, ran.stdout + ran.stderr


@pytest.mark.slow
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
def test_supported_run_lines_pass(lit_suite: Path, lines: str) -> None:
    code, report = lit(lit_suite, lines)
    assert code == 0, report
    assert "Passed: 1" in report


@pytest.mark.slow
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
def test_failing_run_lines_fail(lit_suite: Path, lines: str) -> None:
    code, report = lit(lit_suite, lines)
    assert code == 1, report


@pytest.mark.slow
def test_output_and_messages_are_in_order(lit_suite: Path) -> None:
    program = "import sys; print(1); print(2, file=sys.stderr); print(3)"
    checks = "CHECK: 1\nCHECK-NEXT: 2\nCHECK-NEXT: 3"
    code, report = lit(lit_suite, f"RUN: %python -c '{program}' 2>&1 | FileCheck %s\n{checks}")
    assert code == 0, report


@pytest.mark.slow
def test_a_missing_feature_skips_a_test(lit_suite: Path) -> None:
    code, report = lit(lit_suite, "REQUIRES: target-nowhere\nRUN: false")
    assert code == 0
    assert "Unsupported: 1" in report


@pytest.mark.slow
def test_real_devices_are_selected_on_the_command_line(lit_suite: Path) -> None:
    text = "REQUIRES: device-null\nRUN: echo"
    assert "Unsupported: 1" in lit(lit_suite, text)[1]
    assert "Passed: 1" in lit(lit_suite, text, "--param", "devices=null,host")[1]


SHOW = "import psutil; print(*psutil.Process().cmdline())"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "option", "is_forked"),
    [
        ("", "forks=1", True),
        ("env XTC_THREADS=2 TMPDIR=%t PATH=/bin", "forks=1", True),
        ("env PYTHONHASHSEED=1", "forks=1", False),
        ("env -u PYTHONUNBUFFERED", "forks=1", False),
        ("", "forks=0", False),
    ],
)
def test_commands_are_forked_if_a_new_interpreter_would_start_equally(
    lit_suite: Path, before: str, option: str, is_forked: bool
) -> None:
    check = "CHECK" if is_forked else "CHECK-NOT"
    (lit_suite / "show.py").write_text(SHOW)
    text = f"RUN: {before} %python %S/show.py | FileCheck %s --allow-empty\n{check}: forks.server"
    code, report = lit(lit_suite, text, "--param", option)
    assert code == 0, report


@pytest.mark.slow
@pytest.mark.parametrize("started", ["", "not ", "env A=1 "])
def test_no_process_outlives_a_time_limit(lit_suite: Path, started: str) -> None:
    text = f"RUN: {started}%python %S/endless.py | FileCheck %s"
    write_endless(lit_suite)
    code, report = lit(lit_suite, text, "--timeout", "2")
    assert code == 1
    assert "Reached timeout of 2 seconds" in report
    assert_ended(lit_suite)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_process_outlives_an_interrupted_lit(lit_suite: Path, number: int) -> None:
    write_endless(lit_suite)
    for name in ("a", "b", "c"):
        (lit_suite / f"{name}.test").write_text("RUN: %python %S/endless.py")
    program = "from lit.main import main; main()"
    command = [sys.executable, "-c", program, "-q", "-j", "2", str(lit_suite)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as running:
        while len(list(lit_suite.glob("*.started"))) < 4:
            assert running.poll() is None
            time.sleep(0.01)
        running.send_signal(number)
    assert_ended(lit_suite)


@pytest.mark.slow
def test_only_required_packages_are_imported_beforehand() -> None:
    """Packages of extras are large, and make every fork slow."""
    config = (ROOT / "tests" / "filecheck" / "lit.cfg.py").read_text()
    (packages,) = re.findall(r"^PACKAGES = (\(.*\))$", config, re.MULTILINE)
    program = (
        f"from tools.forks.server import import_all; import_all({packages})\n"
        "import sys\n"
        "print('xtc.cli.opt' in sys.modules, 'xtc_targets.null.device' in sys.modules)\n"
        "print({'distributed', 'matplotlib', 'onnx', 'scipy', 'sklearn', 'torch'} & {*sys.modules})"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ran.stdout == "True True\nset()\n", ran.stderr


def write_endless(suite: Path) -> None:
    """A program that starts itself again and waits forever, and reports both processes."""
    (suite / "endless.py").write_text(
        "import os, pathlib, subprocess, sys, time\n"
        "pathlib.Path(__file__).with_name(f'{os.getpid()}.started').touch()\n"
        "if len(sys.argv) == 1: subprocess.run([sys.executable, __file__, 'again'])\n"
        "time.sleep(1000)\n"
    )


def assert_ended(suite: Path) -> None:
    started = [int(path.stem) for path in suite.glob("*.started")]
    assert len(started) >= 2
    deadline = time.monotonic() + 60
    while any(map(psutil.pid_exists, started)):
        assert time.monotonic() < deadline, started
        time.sleep(0.01)

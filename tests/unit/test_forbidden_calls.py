# SPDX-License-Identifier: Apache-2.0
"""No code of the project runs foreign code, except where that is its purpose."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.forbidden_calls import forbidden_calls

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_repository_has_no_forbidden_call() -> None:
    assert forbidden_calls(ROOT) == []


def found(root: Path, line: str) -> list[str]:
    path = root / "xtc" / "core" / "code.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"\n{line}\n")
    return forbidden_calls(root, {})


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("x = eval(text)", "eval"),
        ("exec(text)", "exec"),
        ("f = eval", "eval"),
        ("c = compile(text, 'f', 'exec')", "compile"),
        ("m = __import__(name)", "__import__"),
        ("builtins.eval(text)", "builtins.eval"),
        ("from builtins import exec as run", "builtins.exec"),
        ("import pickle", "pickle"),
        ("import marshal as m", "marshal"),
        ("from shelve import open", "shelve"),
        ("import multiprocessing.pool", "multiprocessing"),
        ("import runpy", "runpy"),
        ("from runpy import run_path", "runpy"),
        ("import joblib", "joblib"),
        ("os.system(command)", "os.system"),
        ("os.popen(command)", "os.popen"),
        ("os.execvp(program, words)", "os.execvp"),
        ("from os import system", "os.system"),
        ("subprocess.run(command, shell=True)", "shell="),
        ("subprocess.run(command, shell=flag)", "shell="),
        ("subprocess.getoutput(command)", "subprocess.getoutput"),
        ("yaml.load(text)", "yaml.load"),
        ("yaml.load(text, Loader=yaml.SafeLoader)", "yaml.load"),
        ("yaml.parse(text, Loader=yaml.CLoader)", "yaml.CLoader"),
        ("from yaml import unsafe_load", "yaml.unsafe_load"),
        ("np.load(path, allow_pickle=True)", "allow_pickle="),
        ("tempfile.mktemp()", "tempfile.mktemp"),
    ],
)
def test_forbidden_calls_are_reported(tmp_path: Path, line: str, what: str) -> None:
    assert found(tmp_path, line) == [f"xtc/core/code.py:2: {what}"]


@pytest.mark.parametrize(
    "line",
    [
        "text = 'eval(x)'",
        "pattern = re.compile(text)",
        "def compile(graph): ...\ncompile(graph)",
        "from xtc.driver import compile\ncompile(graph)",
        "module.evaluate(x)",
        "from xtc.code import thing",
        "from .pickle import thing",
        "os.path.exists(p)",
        "subprocess.run(words, shell=False)",
        "yaml.safe_load(text)",
        "yaml.parse(text, Loader=yaml.CSafeLoader)",
        "np.load(path, allow_pickle=False)",
        "tempfile.mkstemp()",
    ],
)
def test_allowed_calls_pass(tmp_path: Path, line: str) -> None:
    assert found(tmp_path, line) == []


def test_an_exception_covers_one_name_in_one_file(tmp_path: Path) -> None:
    allowed = {("xtc/core/code.py", "runpy"): "reason"}
    assert found(tmp_path, "import runpy") == ["xtc/core/code.py:2: runpy"]
    assert forbidden_calls(tmp_path, allowed) == []
    found(tmp_path, "import runpy, pickle")
    assert forbidden_calls(tmp_path, allowed) == ["xtc/core/code.py:2: pickle"]
    found(tmp_path, "")
    assert forbidden_calls(tmp_path, allowed) == [
        "('xtc/core/code.py', 'runpy'): exception not needed"
    ]

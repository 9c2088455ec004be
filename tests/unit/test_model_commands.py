# SPDX-License-Identifier: Apache-2.0
"""Commands on ONNX files: compiled, compared with the file, tuned; messages about sizes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")

from tests.unit.test_onnx_import import I64, constant, info, model  # noqa: E402
from xtc.cli import compile as compile_command  # noqa: E402
from xtc.cli import run as run_command  # noqa: E402
from xtc.cli import tune as tune_command  # noqa: E402
from xtc.core.errors import UserError  # noqa: E402

helper = onnx.helper


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Rows of a table times weights, with one of two paths that an input selects."""
    rng = np.random.default_rng(0)
    branches = {
        key: helper.make_graph(
            [helper.make_node(operator, ["product"], [f"{key}_result"])],
            key,
            [],
            [info(f"{key}_result", None)],
        )
        for key, operator in (("then_branch", "Relu"), ("else_branch", "Flatten"))
    }
    nodes = [
        helper.make_node("Gather", ["table", "words"], ["rows"]),
        helper.make_node("MatMul", ["rows", "weights"], ["product"]),
        helper.make_node("Equal", ["rate", "sixteen"], ["is_sixteen"]),
        helper.make_node("If", ["is_sixteen"], ["y"], **branches),
    ]
    constants = [
        constant("table", rng.standard_normal((5, 8))),
        constant("weights", rng.standard_normal((8, 4))),
        constant("sixteen", 16000, "int64"),
    ]
    proto = model(
        nodes,
        [info("words", ["batch", "length"], I64), info("rate", [], I64)],
        [info("y", None)],
        initializer=constants,
    )
    path = tmp_path / "words.onnx"
    onnx.save(proto, str(path))
    return path


SIZES = ["--dim", "batch=2", "--dim", "length=3", "--value", "rate=16000"]


@pytest.mark.slow
def test_run_compares_with_the_file(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command.run([str(file), "--check", *SIZES]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("check y: all 24 elements agree")
    assert lines[1].startswith("check against ONNX")
    assert "y: all 24 elements agree" in lines[1]


@pytest.mark.slow
def test_compile_writes_an_artifact(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = file.parent / "artifact"
    assert compile_command.run([str(file), *SIZES, "-o", str(folder)]) == 0
    assert (folder / "module.so").is_file()
    assert compile_command.run([str(file), *SIZES, "--stage", "source"]) == 0
    assert "func.func @words" in capsys.readouterr().out


def test_missing_sizes_and_values_are_named(file: Path) -> None:
    with pytest.raises(UserError, match="has the dynamic dimensions 'batch', 'length'") as caught:
        run_command.run([str(file), "--check"])
    assert "--dim batch=32 --dim length=32" in str(caught.value)
    with pytest.raises(UserError, match="1 node of model 'words' cannot be imported") as caught:
        run_command.run([str(file), *SIZES[:4]])
    assert "branches of different types, and a condition that is not constant" in str(caught.value)
    with pytest.raises(UserError, match="the model has no input 'rat'"):
        run_command.run([str(file), *SIZES[:4], "--value", "rat=1"])
    with pytest.raises(UserError, match="the value of input 'rate' is 'fast', not numbers"):
        run_command.run([str(file), *SIZES[:4], "--value", "rate=fast"])


@pytest.mark.slow
def test_tune_accepts_a_file(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    database = file.parent / "tuning.db"
    arguments = [str(file), *SIZES, "--trials", "1", "--jobs", "1", "-q", "--db", str(database)]
    assert tune_command.run(arguments) == 0
    assert "x default" in capsys.readouterr().out


@pytest.mark.slow
def test_the_programs_of_the_page_run(tmp_path: Path) -> None:
    page = Path(__file__).parents[2] / "docs" / "models.md"
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    program = tmp_path / "page.py"
    program.write_text("\n".join(blocks))
    words = [sys.executable, str(program)]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "(3, 10)" in done.stdout
    assert done.stdout.endswith("[1. 1. 1. 1. 1. 1. 1. 1.]\n")

# SPDX-License-Identifier: Apache-2.0
"""The notebooks run from top to bottom, and are stored without outputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples/notebooks").glob("*.ipynb"))


def code_of(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """The code cells of a notebook, each with a name for messages."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    kept = [cell for cell in cells if cell["cell_type"] == "code"]
    return [(f"{path.name}, code cell {n}", cell) for n, cell in enumerate(kept, start=1)]


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: str(path.stem))
def test_outputs_are_not_stored(path: Path) -> None:
    for name, cell in code_of(path):
        assert not cell["outputs"], name
        assert cell["execution_count"] is None, name


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: str(path.stem))
def test_a_notebook_runs(path: Path) -> None:
    pytest.importorskip("onnx", reason="the package onnx is not installed")
    names: dict[str, Any] = {"__name__": "__main__"}
    for name, cell in code_of(path):
        exec(compile("".join(cell["source"]), name, "exec"), names)  # noqa: S102  our own text

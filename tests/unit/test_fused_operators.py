# SPDX-License-Identifier: Apache-2.0
"""The listing of loop nests names the operators that share loops."""

from __future__ import annotations

from pathlib import Path

import pytest

import xtc.ops as O
from xtc.cli import compile as command
from xtc.driver import prepare
from xtc.driver.fused_operators import fused_operators

GRAPH = """
import xtc.ops as O

x, w, b = O.tensor((64, 32)), O.tensor((32, 48)), O.tensor((48,))
with O.graph(name="net") as graph:
    O.relu(O.add(O.matmul(x, w, name="P"), b, name="Q"), name="R")
    O.exp(O.tensor((7,)), name="E")
"""


@pytest.mark.slow
def test_fusion_by_default_and_by_a_schedule() -> None:
    x, w, b = O.tensor((64, 32)), O.tensor((32, 48)), O.tensor((48,))
    with O.graph(name="net") as builder:
        O.relu(O.add(O.matmul(x, w, name="P"), b, name="Q"), name="R")
        O.exp(O.tensor((7,)), name="E")
    default = fused_operators(prepare(builder.graph))
    assert default["E"] == ()
    assert default["Q"] == ("P", "R")
    asked = {"P": ["i=fuse_consumer", "j", "k"]}
    assert fused_operators(prepare(builder.graph, schedule=asked))["P"] == ("Q", "R")


@pytest.mark.slow
def test_the_command_lists_fused_operators(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "net.py"
    file.write_text(GRAPH)
    assert command.run([str(file), "--nest"]) == 0
    said = capsys.readouterr().out
    assert "R (i: 64, j: 48)\n" in said
    assert said.count("  note: fused with 'P' and 'R'\n") == 1
    assert said.endswith("    E\n")

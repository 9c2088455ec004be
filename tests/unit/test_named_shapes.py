# SPDX-License-Identifier: Apache-2.0
"""Operators with named shapes in the commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from xtc.cli import compile as command
from xtc.cli.common import read_graph
from xtc.cli.named_shapes import named_graph, names
from xtc.core.errors import UserError


def test_a_convolution_takes_a_padded_image() -> None:
    graph = named_graph("conv2d:ResNet18_01")
    assert [tensor.type.shape for tensor in graph.inputs] == [(1, 230, 230, 3), (7, 7, 3, 64)]
    assert graph.node("C").output.type.shape == (1, 112, 112, 64)


def test_names_ignore_case_and_may_have_a_type() -> None:
    graph = named_graph("matmul:polybench_MEDIUM:float64")
    assert str(graph.node("C").output.type) == "200x224xfloat64"


@pytest.mark.parametrize("kind", ["conv2d", "matmul"])
def test_every_name_is_a_graph(kind: str) -> None:
    found = [named_graph(f"{kind}:{name}") for name in names(kind)]
    assert len({str(graph) for graph in found}) == len(found) > 20
    assert all(graph.flops > 1 << 20 for graph in found)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("conv2d:ResNet18_99", "no conv2d is called 'ResNet18_99'"),
        ("matmul:", "no matmul is called ''"),
        ("conv9d:ResNet18_01", "there is no file conv9d:ResNet18_01"),
    ],
)
def test_unknown_names_list_the_known_ones(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_graph(Path(text), {})


@pytest.mark.slow
def test_the_command_takes_either_a_file_or_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.run(["--op", "matmul:AlexNet_FC8", "--stage", "source"]) == 0
    assert "func.func @matmul_alexnet_fc8(" in capsys.readouterr().out
    with pytest.raises(UserError, match="no graph is given"):
        command.run(["--stage", "source"])
    with pytest.raises(UserError, match="two graphs are given: a file and --op"):
        command.run(["graph.py", "--op", "matmul:AlexNet_FC8", "--stage", "source"])

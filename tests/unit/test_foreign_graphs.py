# SPDX-License-Identifier: Apache-2.0
"""Graphs in the YAML of xtc-tools are read, and errors have a location."""

from __future__ import annotations

from pathlib import Path

import pytest

import xtc
import xtc.ops as O
from xtc.core.errors import UserError

GRAPH = """\
name: layer
inputs:
- uid: '%0'
  expr:
    type: {shape: [1, 8, 8, 3], dtype: float32}
- uid: '%1'
  expr:
    type: {shape: [3, 3, 3, 16], dtype: float32}
outputs:
- uid: '%4'
nodes:
- name: padded
  uid: '%2'
  expr:
    op: {name: pad2d, attrs: {padding: 1, axes: [1, 2]}}
    args: ['%0']
- uid: '%3'
  expr:
    op: {name: conv2d, attrs: {stride: [2, 2]}}
    args: ['%2', '%1']
- name: bent
  uid: '%4'
  expr:
    op: {name: relu, attrs: {threshold: 0.25}}
    args: ['%3']
ops_version: 0123456789abcdef
"""


def _read(folder: Path, text: str) -> xtc.Graph:
    file = folder / "graph.yaml"
    file.write_text(text)
    return xtc.from_yaml(file)


def test_a_graph_is_read(tmp_path: Path) -> None:
    with O.graph(name="layer") as builder:
        padded = O.pad(O.tensor((1, 8, 8, 3)), {1: 1, 2: 1}, name="padded")
        wide = O.conv2d(padded, O.tensor((3, 3, 3, 16)), stride=(2, 2))
        O.relu(wide, threshold=0.25, name="bent")
    assert str(_read(tmp_path, GRAPH)) == str(builder.graph)


@pytest.mark.parametrize(
    ("padding", "shape"),
    [
        ("2", (1, 12, 12, 3)),
        ("[1, 2]", (1, 11, 11, 3)),
        ("[[1, 2], [0, 1]]", (1, 11, 9, 3)),
        ("[1, 2, 0, 1]", (1, 11, 9, 3)),
        ("{1: 2, 2: [1, 0]}", (1, 12, 9, 3)),
    ],
)
def test_padding_is_written_in_five_ways(
    tmp_path: Path, padding: str, shape: tuple[int, ...]
) -> None:
    text = GRAPH.replace("padding: 1, axes", f"padding: {padding}, axes")
    graph = _read(tmp_path, text)
    assert graph.node("padded").output.type.shape == shape


def test_files_of_this_project_are_still_read(tmp_path: Path) -> None:
    graph = _read(tmp_path, GRAPH)
    graph.save(tmp_path / "own.yaml")
    assert xtc.from_yaml(tmp_path / "own.yaml") == graph


@pytest.mark.parametrize(
    ("there", "here", "message"),
    [
        ("name: conv2d", "name: conv4d", ":19:16: no operator is called 'conv4d' here"),
        ("args: ['%3']", "args: ['%9']", ":25:12: no earlier tensor is called '%9'"),
        ("stride: [2, 2]", "strides: 2", ":19:16: invalid arguments of conv2d"),
        ("shape: [1, 8, 8, 3]", "shape: [0]", "dimension 0 of shape (0,) is 0"),
        ("outputs:\n- uid: '%4'\n", "", "a graph has no 'outputs'"),
    ],
)
def test_errors_have_a_location(tmp_path: Path, there: str, here: str, message: str) -> None:
    assert there in GRAPH
    with pytest.raises(UserError) as refused:
        _read(tmp_path, GRAPH.replace(there, here))
    assert message in str(refused.value)

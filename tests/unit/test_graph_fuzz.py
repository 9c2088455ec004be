# SPDX-License-Identifier: Apache-2.0
"""Reading an arbitrary graph file gives a graph or a UserError."""

from __future__ import annotations

import string
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.unit import hostile_text
from tests.unit.graph_strategies import graphs
from xtc.core.errors import UserError
from xtc.core.location import SourceLocation
from xtc.graph.graph import Graph

# Pieces that mean something to YAML, to the format, or to Python.
PIECES = [
    "&a ", "*a", "!!python/object/apply:os.system [ls]", "!!binary ", "!", "%TAG ! x", "<<: *a",
    "[", "]", "{", "}", "[[[[[[[[", "{{{{", "- ", "? ", ": ", ", ", "|", ">", "|2-\n", "'", '"',
    "\\", "#", "---\n", "...\n", "\t", "\n", "\r\n", "\x00", "\ud800", "\ufeff", "\u2028", "é",
    "null", "~", "true", "yes", ".nan", ".inf", "-1", "0", "1e999", "1_0", "0x1F", "12:30",
    "9" * 50, "99999999999999999999", "1.5", "name: x", "op: relu", "op: conv2d", "op: reshape",
    "op: pad", "op: os", "op: ../x", "inputs: []", "shape: [n]", "shape: [1000000000, 1000]",
    "dtype: bool", "dtype: bfloat16", "data: AAAA", "data: [[1], 2]", "attributes: {axis: 9}",
    "outputs: []", "attributes: {shape: [-1, -1]}", "attributes: {padding: [[1000000000, 0]]}",
    "__class__", "constants_file: {name: ../x.npz, sha256: aa}",
]  # fmt: skip

COUNT = settings().max_examples * 5 // 4  # four tests: 10,000 texts in a long run
HOSTILE = [*PIECES, *hostile_text.PAYLOADS, *hostile_text.NUMBERS, *hostile_text.ODD]
ALPHABET = st.one_of(st.sampled_from(HOSTILE), st.text(string.printable, max_size=3), st.text())


LINE_ENDS = "\n\r\x85\u2028\u2029"


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The working directory, in which no canary may appear."""
    path = tmp_path_factory.mktemp("fuzz")
    with pytest.MonkeyPatch.context() as patch, hostile_text.nothing_evaluated(path):
        patch.chdir(path)
        yield path


def result_of(read: Callable[[], Graph]) -> Graph | UserError:
    try:
        return read()
    except UserError as error:
        return error


def reads_or_explains(text: str) -> None:
    result = result_of(lambda: Graph.from_yaml(text, "fuzzed.yaml"))
    if isinstance(result, Graph):
        assert Graph.from_yaml(Graph.to_yaml(result)) == result
        return
    assert isinstance(result.where, SourceLocation)
    assert result.where.file == "fuzzed.yaml"
    assert 1 <= result.where.line <= 2 + sum(map(text.count, LINE_ENDS))


@settings(max_examples=COUNT)
@given(st.text())
def test_any_text(text: str) -> None:
    reads_or_explains(text)


@pytest.mark.slow
@settings(max_examples=COUNT)
@given(st.lists(ALPHABET, max_size=40))
@example(["["] * 5000)
@example(["- "] * 5000)
@example(["? "] * 5000)
@example(["{a: "] * 5000)
@example(["&a [*a]"])
def test_any_pieces_of_yaml(pieces: list[str]) -> None:
    reads_or_explains("".join(pieces))


@pytest.mark.slow
@settings(max_examples=COUNT)
@given(st.data())
def test_any_damaged_graph(data: st.DataObject) -> None:
    text = Graph.to_yaml(data.draw(graphs()))
    for _ in range(data.draw(st.integers(1, 3))):
        text = damaged(data, text)
    reads_or_explains(text)


def damaged(data: st.DataObject, text: str) -> str:
    """A part of the text replaced, duplicated, moved or deleted."""
    start = data.draw(st.integers(0, len(text)))
    stop = start + data.draw(st.integers(0, 12))
    how = data.draw(st.sampled_from(["replace", "insert", "drop", "double", "cut", "line", "word"]))
    if how == "line":
        return damaged_lines(data, text)
    if how == "word":
        return damaged_words(data, text)
    piece = {"replace": data.draw(ALPHABET), "insert": data.draw(ALPHABET) + text[start:stop]}
    middle = {**piece, "drop": "", "double": text[start:stop] * 2, "cut": ""}[how]
    return text[:start] + middle + ("" if how == "cut" else text[stop:])


def damaged_lines(data: st.DataObject, text: str) -> str:
    """A line moved, duplicated or deleted."""
    lines = text.splitlines(keepends=True) or [""]
    line = lines.pop(data.draw(st.integers(0, len(lines) - 1)))
    for _ in range(data.draw(st.integers(0, 2))):
        lines.insert(data.draw(st.integers(0, len(lines))), line)
    return "".join(lines)


def damaged_words(data: st.DataObject, text: str) -> str:
    """A word replaced by another one, which usually keeps the text well-formed."""
    words = sorted(set(text.replace(",", " ").replace("[", " ").replace("]", " ").split())) or [""]
    old, new = data.draw(st.sampled_from(words)), data.draw(st.sampled_from([*words, "-3", "relu"]))
    return text.replace(old, new, data.draw(st.integers(1, 3))) if old else text


@settings(max_examples=COUNT)
@given(data=st.binary())
def test_any_bytes_in_a_file(tmp_path_factory: Any, data: bytes) -> None:
    path: Path = tmp_path_factory.mktemp("fuzz") / "graph.yaml"
    path.write_bytes(data)
    result = result_of(lambda: Graph.load(path))
    assert isinstance(result, UserError)
    assert path.name in str(result)

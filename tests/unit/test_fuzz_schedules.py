# SPDX-License-Identifier: Apache-2.0
"""Arbitrary schedule texts give a schedule or a UserError quickly, and nothing is executed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import xtc.ops as O
from tests.unit import hostile_text
from tests.unit.test_graph_fuzz import PIECES, damaged
from xtc.core.errors import UserError
from xtc.driver import prepare
from xtc.graph.graph import Graph

pytestmark = pytest.mark.slow

COUNT = settings().max_examples * 5 // 3  # three tests: 10,000 texts in a long run
TEXTS = (
    "C: {i: , j: , k: , i#8: , k#4: unroll, j#16: vectorize}",
    "C:\n  j: {parallelize: true, pack: 1}\n  i: {buffer: true}\n  k: {}\n  i#8: {unroll: 4}\n",
    "C: {j: parallelize, 'i[0:8]': {i: , k: }, 'i[8:]': {i: , k: }}\nR: {i: {fuse: [0]}, j: }",
    "R:\n  i: {parallelize: true, fuse: [0]}\n  j:\n  i#4:\n",
    "C: {i: interchange, j: {unroll: -1}, k#2147483648: vectorize}",
)
WORDS = (
    *("C", "R", "D", "i", "j", "k", "i#4", "j#0", "k#-4", "i#4#2", "i[0:4]", "i[4:0]", "i[:]"),
    *("unroll", "vectorize", "parallelize", "pack", "buffer", "fuse", "true", "[0]", "[9]", "{}"),
)
PIECE = st.one_of(
    st.sampled_from([*PIECES, *hostile_text.PAYLOADS, *hostile_text.NUMBERS, *hostile_text.ODD]),
    st.sampled_from([f"{word}{end}" for word in WORDS for end in (": ", ", ", "", ": {", "}")]),
)


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The working directory, in which no canary may appear."""
    path = tmp_path_factory.mktemp("fuzz")
    with pytest.MonkeyPatch.context() as patch, hostile_text.nothing_evaluated(path):
        patch.chdir(path)
        yield path


@pytest.fixture(scope="module")
def graph() -> Graph:
    a, b = O.tensor((16, 24), name="A"), O.tensor((24, 32), name="B")
    with O.graph(name="layer") as gb:
        O.relu(O.matmul(a, b, name="C"), name="R")
    return gb.graph


def reads_or_explains(graph: Graph, text: str) -> bool:
    """Whether the text is a schedule; its printed form is read back as the same schedule."""
    try:
        found = prepare(graph, schedule=text).schedules
    except UserError:
        return False
    again = "\n".join(f"{name}: {nest}" for name, nest in found.items())
    assert prepare(graph, schedule=again).schedules == found
    return True


@settings(max_examples=COUNT)
@given(text=st.one_of(st.text(), hostile_text.texts))
def test_any_text(graph: Graph, text: str) -> None:
    reads_or_explains(graph, text)


@settings(max_examples=COUNT)
@given(pieces=st.lists(PIECE, max_size=30))
@example(pieces=["C: ", *["{i: "] * 5000])
@example(pieces=["C: ", *["["] * 5000])
@example(pieces=["C: {i: &a , j: *a}"])
@example(pieces=["C: {i: , j: , k: , i#" + "9" * 4400 + ": }"])
def test_any_pieces(graph: Graph, pieces: list[str]) -> None:
    reads_or_explains(graph, "".join(pieces))


@settings(max_examples=COUNT)
@given(data=st.data())
def test_any_damaged_schedule(graph: Graph, data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(TEXTS))
    for _ in range(data.draw(st.integers(0, 3))):
        text = damaged(data, text)
    reads_or_explains(graph, text)


def test_some_texts_are_schedules(graph: Graph) -> None:
    assert [reads_or_explains(graph, text) for text in TEXTS] == [True, True, True, True, False]

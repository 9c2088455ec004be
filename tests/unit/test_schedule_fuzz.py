# SPDX-License-Identifier: Apache-2.0
"""Any source of a schedule gives a legal nest or a UserError."""

from __future__ import annotations

import string
from random import Random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import xtc
import xtc.ops as O
from tests.unit.random_nests import random_data
from xtc.core.errors import UserError
from xtc.graph.graph import Graph
from xtc.loops import Axis, Space, check_nest, nest_data, nest_text, parse_nest
from xtc.loops.plan import plan_nest

pytestmark = pytest.mark.slow

SPACE = Space((Axis("i", 12), Axis("j", 7), Axis("k", 16, reduction=True)), 2, (0,))

# Tokens with a meaning in YAML or in the grammar.
PIECES = [
    *("i", "j", "k", "#", "#4", "#3", "[", "]", ":", "{", "}", ",", "\n", " ", "  ", "- ", "? "),
    *("i[0:6]", "i[6:]", "i#4", "j#2", "unroll", "vectorize", "parallelize", "buffer", "pack"),
    *("fuse", "true", "null", "~", "0", "1", "2", "-1", "9" * 30, "1e3", "'", '"', "&a", "*a", "="),
    *(
        "!!python/object:os.system",
        "!!int",
        "!!binary",
        "<<",
        "|",
        ">",
        "%YAML 1.1\n",
        "---",
        "...",
    ),
    *("\t", "\0", "\x7f", "\ufeff", "\ud800", "\U0001f600", "# c", "@", "`"),
]
texts = st.lists(st.sampled_from(PIECES), max_size=30).map("".join) | st.text(max_size=60)

KEYS = ["i", "j", "k", "i#4", "j#2", "k#1", "i[0:6]", "i[6:12]", "i[6:]", "j[:3]", "j[3:]", "z", ""]
WORDS = ["unroll", "vectorize", "parallelize", "buffer", "pack", "fuse", "unroll:2", "pack:0", "x"]
keys = st.sampled_from(KEYS) | st.text(string.printable, max_size=6) | st.sampled_from(WORDS)
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.binary(max_size=3)
    | st.sampled_from([*WORDS, *KEYS, "i#4=unroll", "j=vectorize,buffer"])
)
trees = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(keys, inner, max_size=5),
    max_leaves=20,
)


def check(data: object) -> None:
    """Check that an accepted nest is legal, has a plan, and round-trips."""
    try:
        nest = parse_nest(data, SPACE, "C")
        check_nest(nest, "C")
    except UserError:
        return
    plan_nest(nest, "C")
    assert nest_text(nest, "C")
    assert parse_nest(nest_data(nest), SPACE, "C") == nest


@given(texts)
@example("{i: {}, j: {}}")
@example("a: &a [*a]")
def test_text(text: str) -> None:
    check(text)


@given(trees)
@example({"i[0:6]": {"i": "unroll"}, "i[6:]": ["j", "i#2=unroll"]})
@example([{"i": {}}, "j", {"k": None, "j#2": "vectorize"}])
def test_plain_data(data: Any) -> None:
    check(data)


@given(seed=st.integers(0, (1 << 32) - 1))
def test_mutated_schedules(seed: int) -> None:
    rng = Random(seed)  # noqa: S311  data of a test
    data = random_data(rng, SPACE)
    check(data)
    for _ in range(rng.randint(1, 4)):
        data = mutated(rng, data)
    check(data)


def mutated(rng: Random, data: Any) -> Any:
    """The data with one thing changed somewhere."""
    if isinstance(data, dict) and data and rng.random() < 0.8:
        key = rng.choice(list(data))
        change = rng.randrange(5)
        if change == 0:
            return {name: value for name, value in data.items() if name != key}
        if change == 1:
            return {**data, rng.choice(KEYS): rng.choice((None, "unroll", data[key], 7))}
        if change == 2:
            return dict(sorted(data.items(), key=lambda _: rng.random()))
        if change == 3:
            other = key.replace("4", "5") if rng.random() < 0.5 else f"{key}#{rng.randint(-1, 9)}"
            return {other if name == key else name: value for name, value in data.items()}
        return {**data, key: mutated(rng, data[key])}
    return rng.choice((None, data, [data], {"i": data}, 3, "vectorize", "i"))


def matmul_graph() -> Graph:
    a, b = O.tensor((12, 16), name="A"), O.tensor((16, 7), name="B")
    with O.graph(name="f") as gb:
        O.matmul(O.relu(a), b, name="C")
    return gb.graph


@given(texts | trees)
def test_schedules_of_graphs(data: Any) -> None:
    graph = matmul_graph()
    for tree in (data, {"C": data}):
        try:
            schedule = xtc.Schedule.of(graph, tree)
        except UserError:
            continue
        again = xtc.Schedule.of(graph, schedule.texts())
        assert again.texts() == schedule.texts()

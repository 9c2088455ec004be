# SPDX-License-Identifier: Apache-2.0
"""Strategies as data: their meaning, and locations of errors."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import xtc
import xtc.ops as O
from tests.unit.search_support import seeded
from xtc.core.errors import UserError
from xtc.driver import prepare
from xtc.graph.builder import GraphBuilder
from xtc.loops.yaml_text import plain
from xtc.search.builtin import NAMES
from xtc.search.domain import read_domain
from xtc.search.plan import make_space
from xtc.search.space import SearchSpace
from xtc.search.strategy import Strategy

BLOCKED = """\
name: blocked
parameters:
  iR: {range: [1, 16]}
  jR: {multiples: V, to: 4 * V}
  kB: {tiles: k, from: 16}
constraints: ["iR * jR <= 28 * V"]
nests:
  - [j, k=pack:1, i, k#kB, i#iR=unroll, j#jR=vectorize]
  - [i, j, k, i#iR=unroll, j#jR=vectorize]
"""
KNOWN = {"i": 24, "j": 64, "k": 48, "V": 16}


def matmul_graph(rows: int = 24, columns: int = 64, depth: int = 48) -> GraphBuilder:
    a, b = O.tensor((rows, depth), name="A"), O.tensor((depth, columns), name="B")
    with O.graph(name="product") as builder:
        O.matmul(a, b, name="C")
    return builder


def space_of(strategy: object, builder: GraphBuilder | None = None) -> SearchSpace:
    """The space of a strategy on a machine of sixteen elements in a vector."""
    compilation = prepare(builder or matmul_graph(), cpu="x86-64-v4", features="", threads=1)
    named = isinstance(strategy, str) and strategy in NAMES
    return make_space(compilation, strategy if named else Strategy.several(strategy))


@pytest.mark.parametrize(
    ("data", "values"),
    [
        ([4, "V", 1], (1, 4, 16)),
        (5, (5,)),
        ({"range": [2, "V // 4"]}, (2, 3, 4)),
        ({"divisors": "k", "from": 4, "to": 16}, (4, 6, 8, 12, 16)),
        ({"powers": "k"}, (1, 2, 4, 8, 16, 32)),
        ({"tiles": "k", "from": 12}, (12, 16, 24, 32, 48)),
        ({"multiples": "V", "to": "j"}, (16, 32, 48, 64)),
        ({"multiples": "V", "to": 7}, (7,)),
        ({"powers": "j", "from": "V", "to": 13}, (13,)),
    ],
)
def test_domains(data: object, values: tuple[int, ...]) -> None:
    assert read_domain(plain(data)).values(KNOWN) == values


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"divisor": "k"}, "did you mean 'divisors'"),
        ({"divisors": "k", "powers": "k"}, "one kind of values"),
        ({"from": 2}, "one kind of values"),
        ({"range": 4}, "a range is"),
        ([0, 1], "values from 0 on"),
        ([], "no value"),
        ({"range": [1, 10000]}, "1 to 4096 values"),
        ({"range": [5, 2]}, "no value"),
        ({"multiples": "V"}, "no value"),
        ([1 << 40], "out of range for a tile"),
    ],
)
def test_invalid_domains_are_refused(data: object, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_domain(plain(data)).values(KNOWN)


@pytest.mark.slow
def test_points_satisfy_the_constraints_and_are_schedules() -> None:
    builder, points = matmul_graph(), list(space_of(BLOCKED).points())
    space = space_of(BLOCKED)
    texts = {space.schedule(point) for point in points}
    assert 100 < len(texts) <= len(points)
    assert all(point["iR"] * point["jR"] <= 28 * 16 for point in points)
    assert max(point["iR"] * point["jR"] for point in points) > 24 * 16
    for text in texts:
        xtc.Schedule.of(builder, text)


def test_a_tile_of_the_whole_axis_replaces_the_outer_loop() -> None:
    space = space_of(BLOCKED)
    blocks = {(32, 16): "j, k=pack:1, i, k#16, i#6=unroll, j#32=vectorize"}
    blocks[32, 48] = "j=pack:1, i, k, i#6=unroll, j#32=vectorize"
    blocks[64, 16] = "k=pack:1, i, k#16, i#6=unroll, j=vectorize"
    blocks[64, 48] = "i, k, i#6=unroll, j=vectorize"
    for (columns, depth), nest in blocks.items():
        text = space.schedule({"nest": 0, "iR": 6, "jR": columns, "kB": depth})
        assert text.replace('"', "") == f"C: [{nest}]"
        xtc.Schedule.of(matmul_graph(), text)


def test_parameters_that_a_nest_lacks_are_ignored() -> None:
    space = space_of(BLOCKED)
    plain_nests = [point for point in space.points() if point["nest"] == 1]
    assert {point["kB"] for point in plain_nests} == {16}
    rng = seeded(0)
    for _ in range(100):
        point = space.random_point(rng)
        assert point is not None
        assert point == space.canonical(point)
        assert space.neighbor(point, rng) != point


def test_the_text_of_a_space_round_trips() -> None:
    space = space_of(BLOCKED)
    again = make_space(
        prepare(matmul_graph(), cpu="x86-64-v4", features=""), Strategy.several(space.text)
    )
    assert list(again.points()) == list(space.points())


@pytest.mark.parametrize("name", [name for name in NAMES if name != "auto"])
def test_built_in_strategies_make_schedules(name: str) -> None:
    builder = matmul_graph(96, 128, 64)
    space, rng = space_of(name, builder), seeded(1)
    for _ in range(20):
        point = space.random_point(rng)
        assert point is not None
        xtc.Schedule.of(builder, space.schedule(point))


GRAPHS = {
    "odd": lambda t: O.matmul(t(17, 31), t(31, 45), name="C"),
    "tiny": lambda t: O.matmul(t(1, 3), t(3, 2), name="C"),
    "transposed": lambda t: O.matmul(t(32, 64), t(48, 64), transpose_b=True, name="C"),
    "batched": lambda t: O.matmul(t(3, 16, 8), t(3, 8, 32), name="C"),
    "vector": lambda t: O.gemv(t(64, 128), t(128), name="C"),
    "convolution": lambda t: O.conv2d(t(1, 12, 12, 8), t(3, 3, 8, 32), name="C"),
    "depthwise": lambda t: O.conv2d(t(1, 12, 12, 32), t(3, 3, 1, 32), groups=32, name="C"),
    "pool": lambda t: O.max_pool2d(t(1, 12, 12, 32), 2, name="C"),
    "rows": lambda t: O.reduce_sum(t(64, 96), axes=1, name="C"),
    "columns": lambda t: O.reduce_sum(t(64, 96), axes=0, name="C"),
    "softmax": lambda t: O.softmax(t(32, 64), name="C"),
    "chain": lambda t: O.relu(O.add(O.exp(t(32, 64)), t(32, 64)), name="C"),
    "layer": lambda t: O.relu(O.matmul(t(32, 64), t(64, 48), name="P"), name="C"),
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", GRAPHS)
def test_auto_fits_every_operator(name: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xtc.search.builtin._PARALLEL_FLOPS", 0)
    with O.graph(name="graph") as builder:
        GRAPHS[name](lambda *shape: O.tensor(shape))
    space = make_space(prepare(builder, threads=threads), "auto")
    rng = seeded(2)
    for _ in range(20):
        point = space.random_point(rng)
        assert point is not None
        xtc.Schedule.of(builder, space.schedule(point))


def test_several_matmuls_are_tuned_together() -> None:
    a, b, c = (O.tensor((32, 32), name=name) for name in "ABD")
    with O.graph(name="two") as builder:
        O.relu(O.matmul(O.matmul(a, b, name="P"), c, name="Q"), name="R")
    space = space_of("auto", builder)
    assert [each.operator for each in space.operators] == ["P", "Q"]
    assert {name.partition(".")[0] for name in space.names} == {"P", "Q"}
    point = space.random_point(seeded(0))
    assert point is not None
    assert set(xtc.Schedule.of(builder, space.schedule(point)).texts()) == {"P", "Q"}
    assert make_space(prepare(builder), Strategy.several(space.text)).names == space.names


def test_the_outermost_loop_is_parallel() -> None:
    def nests(rows: int, threads: int) -> list[bool]:
        space = make_space(prepare(matmul_graph(rows, 256, 256), threads=threads), "tile3d")
        return ["parallelize" in nest[0].annotations for nest in space.operators[0].strategy.nests]

    assert nests(256, 1) == [False, False]
    assert nests(8, 2) == [False, False]
    assert nests(64, 2) == [True, True, False, False]
    assert nests(256, 2) == [True, True]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("nests:", "nest:"), r":7:1: a strategy has no 'nest'"),
        (("iR * jR", "iT * jR"), r":6:15: .* unknown name 'iT'"),
        (("28 * V", "28 @ V"), r":6:15: '.*' is not allowed"),
        (("i#iR", "i#iT"), "unknown parameter 'iT'"),
        (("  kB: {tiles: k, from: 16}\n", ""), "unknown parameter 'kB'"),
        (("k#kB", "k#16"), "no nest of strategy 'blocked' has the parameter 'kB'"),
        (("[j, k=pack:1, i", "[j, z=pack:1, i"), "no operator of 'product' has the axes"),
        (("[j, k=pack:1, i", "[j, z=pack:1, i"), "they are i, j, k, z"),
        (("iR: {range", "k: {range"), "unknown parameter 'iR'"),
        (("tiles: k", "tiles: kk"), "unknown name 'kk'"),
        (("[1, 16]", "[1, x]"), "unknown name 'x'"),
        (("i#iR=unroll", "i # iR"), "is not a loop of a nest|not YAML"),
        (("name: blocked", "name: [1]"), "is not a name"),
        (("name: blocked", "operator: D"), "graph 'product' has no node 'D'"),
    ],
)
def test_errors_have_a_location(change: tuple[str, str], message: str) -> None:
    assert change[0] in BLOCKED
    with pytest.raises(UserError, match=message):
        space_of(BLOCKED.replace(*change))


def test_names_of_strategies_are_checked() -> None:
    compilation = prepare(matmul_graph())
    with pytest.raises(UserError, match="did you mean 'packed'"):
        make_space(compilation, "pakced")
    with pytest.raises(UserError, match="cannot read"):
        make_space(compilation, Path("/no/such/file.yaml"))
    with pytest.raises(UserError, match="'D' of graph 'product' has no loops"):
        make_space(compilation, "auto", "D")
    with pytest.raises(UserError, match="names no operator"):
        Strategy.several("[{nests: [[i]]}, {nests: [[i]]}]")
    with pytest.raises(UserError, match="nothing to choose"):
        space_of("nests: [[i, j, k]]")


@pytest.mark.slow
@given(
    st.integers(0, len(BLOCKED) - 1),
    st.integers(0, 6),
    st.sampled_from(" #=:,{}[]-*%V0k9\n\t\"'&!"),
)
def test_a_damaged_text_is_a_strategy_or_an_error(at: int, drop: int, put: str) -> None:
    text = BLOCKED[:at] + put + BLOCKED[at + drop :]
    try:
        space = space_of(text)
        point = space.random_point(seeded(0))
        if point is not None:
            space.schedule(point)
    except UserError:
        pass

# SPDX-License-Identifier: Apache-2.0
"""Samplers propose distinct points, deterministically, and learning ones beat random search."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tests.unit.test_search_strategy import BLOCKED, space_of
from xtc.core.errors import UserError
from xtc.search.samplers import SAMPLERS, sampler
from xtc.search.space import Point, SearchSpace, key

LARGE = """\
parameters: {iR: {range: [1, 64]}, jR: {range: [1, 64]}, kB: {range: [1, 47]}}
constraints: ["iR * jR <= 512"]
nests: [[i, j, k, k#kB, i#iR=unroll, j#jR]]
"""


@pytest.fixture
def small() -> SearchSpace:
    return space_of(BLOCKED)


@pytest.fixture
def large() -> SearchSpace:
    from tests.unit.test_search_strategy import matmul_graph

    return space_of(LARGE, matmul_graph(128, 128, 48))


def seconds(point: Point) -> float:
    """A cost function with one optimum; odd tiles fail."""
    distance = (math.log2(point["iR"]) - 3) ** 2 + (math.log2(point["jR"]) - 5) ** 2
    return 1.0 + distance + 0.1 * (math.log2(point["kB"]) - 4) ** 2


def searched(name: str, space: SearchSpace, seed: int, count: int) -> list[Point]:
    """Points in the order of a search that reports their times."""
    searcher = sampler(name, space, seed)
    found: list[Point] = []
    for _ in range(count):
        point = searcher.ask()
        if point is None:
            break
        found.append(point)
        searcher.tell(point, seconds(point) if point["iR"] != 3 else None)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLERS)
def test_every_point_is_proposed_once(name: str, small: SearchSpace) -> None:
    every = {key(point) for point in small.points()}
    found = searched(name, small, 0, len(every) + 10)
    assert len(found) == len(every)
    assert {key(point) for point in found} == every


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLERS)
def test_a_seed_determines_the_search(name: str, large: SearchSpace) -> None:
    first, again, other = (searched(name, large, seed, 60) for seed in (5, 5, 6))
    assert first == again
    assert (first == other) == (name == "exhaustive")


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLERS)
def test_points_of_large_spaces_satisfy_the_constraints(name: str, large: SearchSpace) -> None:
    found = searched(name, large, 1, 80)
    assert len({key(point) for point in found}) == 80
    assert all(large.allows(point) for point in found)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["evolutionary", "model"])
def test_learning_beats_chance(name: str, large: SearchSpace) -> None:
    def best(kind: str) -> float:
        runs = (searched(kind, large, seed, 120) for seed in range(3))
        return sum(min(map(seconds, points)) for points in runs) / 3

    assert best(name) < best("random")


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.slow
def test_known_points_are_not_proposed(name: str, small: SearchSpace) -> None:
    done = searched("random", small, 3, 40)
    searcher = sampler(name, small, 0)
    for point in done:
        searcher.tell(point, seconds(point))
    rest = [searcher.ask() for _ in range(30)]
    assert not {key(p) for p in rest if p is not None} & {key(p) for p in done}


@pytest.mark.slow
def test_samplers_propose_several_points_before_results(large: SearchSpace) -> None:
    for name in SAMPLERS:
        searcher = sampler(name, large, 0)
        asked = [searcher.ask() for _ in range(40)]
        assert len({key(point) for point in asked if point is not None}) == 40


def test_an_unknown_sampler_is_named(small: SearchSpace) -> None:
    with pytest.raises(UserError, match="did you mean 'random'"):
        sampler("randon", small, 0)


def test_points_of_a_file_are_in_its_order(small: SearchSpace, tmp_path: Path) -> None:
    """Columns in any order, additional columns, and a row without a point."""
    points = [next(iter(small.points())), *reversed(list(small.points())[1:4])]
    file = tmp_path / "points.csv"
    names = ["kB", "iR", "jR"]
    rows = [",".join(["ok", *(str(point[name]) for name in names)]) for point in points]
    file.write_text("\n".join([f"status,{','.join(names)}", "default,,,", *rows, ""]))
    searcher = sampler(str(file), small, 0)
    asked = [searcher.ask() for _ in points]
    assert [key(point) for point in asked if point] == [key(small.canonical(p)) for p in points]
    assert searcher.ask() is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("iR,jR\n999,1\n", r"points.csv:2: 'iR' cannot be 999"),
        ("iR,jR\nmany,1\n", "'iR' cannot be many"),
        ("x,y\n1,2\n", "has no points of this strategy"),
        ("", "has no points of this strategy"),
    ],
)
def test_other_files_are_refused(
    small: SearchSpace, tmp_path: Path, text: str, message: str
) -> None:
    file = tmp_path / "points.csv"
    file.write_text(text)
    with pytest.raises(UserError, match=message):
        sampler(str(file), small, 0)
    with pytest.raises(UserError, match="cannot read"):
        sampler(str(tmp_path / "none.csv"), small, 0)

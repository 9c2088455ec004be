# SPDX-License-Identifier: Apache-2.0
"""Strategies named by schemes sample schedules whose loops follow the letters."""

from __future__ import annotations

import random

import pytest

import xtc
import xtc.ops as O
from xtc.core.errors import UserError
from xtc.driver import prepare
from xtc.graph.graph import Graph
from xtc.search.plan import make_space
from xtc.search.schemes import scheme_of


def _product() -> Graph:
    with O.graph(name="product") as builder:
        O.matmul(O.relu(O.tensor((48, 32)), name="P"), O.tensor((32, 64)), name="C")
    return builder.graph


def _conv() -> Graph:
    with O.graph(name="conv") as builder:
        O.conv2d(O.tensor((1, 10, 10, 4)), O.tensor((3, 3, 4, 16)), name="C")
    return builder.graph


GRAPHS = {"product": _product(), "conv": _conv()}
NAMES = ("tile_p1_v", "tile_oo", "tile_prp", "tile7dvr", "tile_ppwrprp_v", "tile9d", "tile_goto_r")


@pytest.mark.slow
@pytest.mark.parametrize("graph", list(GRAPHS))
@pytest.mark.parametrize("name", [*NAMES, "tile_tt", "tile_ortp"])
def test_points_are_schedules(name: str, graph: str) -> None:
    space = make_space(prepare(GRAPHS[graph], threads=1), name, "C")
    rng = random.Random(1)  # noqa: S311  data of a test
    for _ in range(8):
        point = space.random_point(rng)
        assert point is not None
        xtc.Schedule.of(GRAPHS[graph], space.schedule(point))


def test_letters_determine_the_order_of_loops() -> None:
    space = make_space(prepare(GRAPHS["product"], threads=1), "tile_pfpwrprp", "C")
    (nest,) = space.operators[0].strategy.nests
    loops = [item.text.partition("=")[0] for item in nest]
    tiles = ["i", "j", "i#i1", "j#j1", "k", "i#i2", "j#j2", "k#k1", "i#i3", "j#j3"]
    assert loops == tiles
    words = {item.text.partition("=")[0]: item.annotations for item in nest if item.annotations}
    assert words == {
        "j": ("fuse:0",),
        "j#j1": ("buffer",),
        "k#k1": ("unroll",),
        "i#i3": ("unroll",),
        "j#j3": ("vectorize",),
    }


def test_rules_bound_the_innermost_tile() -> None:
    space = make_space(prepare(GRAPHS["product"], threads=1), "tile_pprprp_vr", "C")
    (strategy,) = (operator.strategy for operator in space.operators)
    rules = [str(rule) for rule in strategy.data("C")["constraints"]]
    assert "i3 * j3 <= REGISTERS * V" in rules
    assert "i3 * j3 * k1 * VECTOR_BYTES <= L1 * V" in rules


@pytest.mark.parametrize(
    ("name", "full"),
    [
        ("tile7d", "tile_pprprp"),
        ("tile8dv", "tile_ppwrprp_v"),
        ("tile9dvr", "tile_pfpwrprp_vr"),
        ("tile_goto_r", "tile_goto_r"),
        ("tile_xyz", None),
        ("tile4d", None),
    ],
)
def test_names(name: str, full: str | None) -> None:
    assert scheme_of(name) == full


def test_a_scheme_without_a_use_is_refused() -> None:
    with O.graph(name="bent") as builder:
        O.relu(O.tensor((8, 8)), name="C")
    with pytest.raises(UserError, match="strategy 'tile_goto' has no nests for relu"):
        make_space(prepare(builder.graph), "tile_goto", "C")

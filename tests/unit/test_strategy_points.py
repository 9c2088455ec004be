# SPDX-License-Identifier: Apache-2.0
"""Points that search strategies sample are accepted, and compute the operator's result.

1,000 points are sampled and checked in every run, 40 of them compiled and run; 5,000 in a long one.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

import pytest

import xtc
import xtc.ops as O
from tests.unit.compiled_batch import results
from tests.unit.random_operators import random_inputs
from tests.unit.strategy_points import Point, draw_point
from xtc.core.errors import UserError
from xtc.driver import prepare
from xtc.evaluate import compare
from xtc.graph.graph import Graph

POINTS, LONG_POINTS = 400, 4000
BATCH = 8


def _matmul(rng: Random) -> None:
    i, j, k = (rng.choice((1, 4, 12, 16, 32, 48, 64)) for _ in range(3))
    O.matmul(O.tensor((i, k), name="A"), O.tensor((k, j), name="B"), name="C")


def _layer(rng: Random) -> None:
    i, j, k = (rng.choice((8, 16, 24, 32)) for _ in range(3))
    a, b = O.tensor((i, k), name="A"), O.tensor((k, j), name="B")
    O.matmul(O.relu(a, name="P"), b, name="C")


def _conv2d(rng: Random) -> None:
    size, channels = rng.choice((6, 9, 10)), rng.choice((1, 4, 16))
    x, w = O.tensor((1, size, size, 3), name="X"), O.tensor((3, 3, 3, channels), name="W")
    O.conv2d(x, w, stride=rng.choice((1, 2)), name="C")


def _elementwise(rng: Random) -> None:
    O.add(O.tensor((rng.choice((1, 16, 30)), 32), name="A"), O.tensor((32,), name="B"), name="C")


GRAPHS = (_matmul, _matmul, _layer, _conv2d, _elementwise)


@dataclass(frozen=True)
class Draw:
    """A graph, a point for its operator C, and the schedule that was asked for it.

    Attributes:
        error: why the schedule is refused, or None.
    """

    graph: Graph
    point: Point
    schedule: xtc.Schedule
    error: UserError | None


def draw(seed: int) -> Draw:
    """One sampled point; it is checked, but not compiled."""
    rng = Random(seed)  # noqa: S311  data of a test
    with O.graph(name="strategy") as builder:
        rng.choice(GRAPHS)(rng)
    schedule = xtc.Schedule(builder.graph)
    point = draw_point(rng, schedule["C"])
    try:
        point.write(schedule["C"], rng)
        schedule.texts()
    except UserError as error:
        return Draw(builder.graph, point, schedule, error)
    return Draw(builder.graph, point, schedule, None)


# Reasons for which a point may be refused, with its property.
REASONS: dict[str, Callable[[Point], bool]] = {
    "nothing can be put between": lambda point: len(point.parallel) > 1,
    "replicates its body about": lambda point: point.copies() > 1,
}


@pytest.mark.slow
def test_points_are_accepted_or_refused_for_a_reason(is_long: bool) -> None:
    points, refused = LONG_POINTS if is_long else POINTS, Counter[str]()
    for found in map(draw, range(points)):
        if found.error is not None:
            reasons = [text for text in REASONS if text in str(found.error)]
            assert reasons, f"{found.point}: {found.error}"
            assert REASONS[reasons[0]](found.point), f"{found.point}: {found.error}"
            refused[reasons[0]] += 1
    assert sum(refused.values()) <= points // 20, refused


@pytest.mark.slow
def test_accepted_points_compute_the_same(is_long: bool) -> None:
    for batch in _batches(5000 if is_long else 24):
        compiled = [prepare(found.graph, schedule=found.schedule) for found in batch]
        inputs = [random_inputs(Random(0), found.graph) for found in batch]  # noqa: S311
        for found, arrays, (actual,) in zip(batch, inputs, results(compiled, inputs), strict=True):
            expected = found.graph.evaluate(*arrays, precise=True)
            name = f"C of {found.graph}\nscheduled {found.schedule.texts()['C']}"
            reduction = max(1, found.graph.reduction_size)
            compare(actual, expected, name=name, reduction=reduction).raise_if_wrong()


def _batches(count: int) -> Iterator[list[Draw]]:
    """Accepted draws, some at a time."""
    accepted = (found for found in map(draw, itertools.count()) if found.error is None)
    wanted = itertools.islice(accepted, count)
    while batch := list(itertools.islice(wanted, BATCH)):
        yield batch

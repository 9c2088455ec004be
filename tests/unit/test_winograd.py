# SPDX-License-Identifier: Apache-2.0
"""Convolutions with fewer multiplications."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xtc
import xtc.ops as O
from xtc.driver.compile import prepare
from xtc.graph.tensor import Tensor

RNG = np.random.default_rng(0)


def random_array(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.standard_normal(shape).astype(np.float32)


def convolution(
    n: int, h: int, w: int, c: int, f: int, *, residual: bool = False, padding: int = 1
) -> xtc.Graph:
    weights = 0.1 * random_array(3, 3, c, f)
    x = O.tensor((n, h, w, c), "float32", name="X")
    with O.graph(name="g") as graph:
        y = O.conv2d(x, O.tensor(weights.shape, const=weights), padding=padding, name="C")
        y = O.add(y, O.tensor((f,), const=random_array(f)))
        if residual:
            y = O.add(y, O.tensor(y.shape, "float32", name="R"))
        O.relu(y, name="Y")
    return graph.graph


def is_winograd(graph: xtc.Graph, **options: Any) -> bool:
    return "xtc.transformed" in prepare(graph, **options).stage_text("scheduled")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "options", "residual"),
    [
        ((1, 14, 14, 64, 64), {"threads": 1}, False),
        ((1, 24, 12, 64, 96), {"threads": 2, "l2_bytes": 1 << 19}, False),
        ((2, 13, 15, 64, 64), {"threads": 1}, True),
        ((4, 12, 12, 64, 64), {"threads": 2, "codegen": "c"}, True),
        ((1, 6, 6, 32, 16), {"threads": 1}, False),
        ((1, 27, 15, 64, 96), {"threads": 2, "l2_bytes": 1 << 19}, True),
        ((2, 37, 9, 64, 96), {"threads": 1, "l2_bytes": 1 << 17}, True),
    ],
    ids=["whole", "bands", "odd", "c", "smallest", "odd bands", "filled bands"],
)
def test_results_agree_with_the_definition(
    shape: tuple[int, int, int, int, int], options: dict[str, Any], residual: bool
) -> None:
    graph = convolution(*shape, residual=residual)
    assert is_winograd(graph, **options)
    with xtc.compile(graph, cache=False, **options) as module:
        module.check(rtol=1e-5, atol=1e-5)


def volumes(shape: tuple[int, ...], taps: int, features: int, before: int, after: int) -> xtc.Graph:
    """A convolution of volumes (n, d, h, w, c), with residual, bias and activation."""
    weights = 0.05 * random_array(taps, 3, 3, shape[4], features)
    x = O.tensor(shape, "float32", name="X")
    padding = ((before, after), (1, 1), (1, 0))
    with O.graph(name="g") as graph:
        y = O.conv3d(x, O.tensor(weights.shape, const=weights), padding=padding, name="C")
        y = O.add(y, O.tensor(y.shape, "float32", name="R"))
        O.relu(O.add(y, O.tensor((features,), const=random_array(features))), name="Y")
    return graph.graph


@pytest.mark.slow
@pytest.mark.parametrize(
    ("graph", "options"),
    [
        (volumes((1, 3, 8, 9, 32), 3, 16, 1, 1), {"threads": 1}),
        (volumes((2, 4, 10, 11, 64), 3, 32, 2, 0), {"threads": 2, "l2_bytes": 1 << 19}),
        (volumes((1, 5, 7, 9, 32), 2, 48, 0, 0), {"threads": 1, "codegen": "c"}),
        (volumes((2, 3, 6, 7, 32), 1, 16, 0, 0), {"threads": 2}),
        (volumes((2, 3, 6, 7, 32), 1, 16, 2, 1), {"threads": 1}),
        (volumes((1, 1, 8, 9, 32), 5, 16, 3, 3), {"threads": 1, "l2_bytes": 1 << 17}),
    ],
    ids=["same", "bands", "no border", "one tap", "border and one tap", "more border than volume"],
)
def test_volumes_are_sums_over_their_taps_along_the_depth(
    graph: xtc.Graph, options: dict[str, Any]
) -> None:
    assert is_winograd(graph, **options)
    with xtc.compile(graph, cache=False, **options) as module:
        module.check(rtol=1e-5, atol=1e-5)


@pytest.mark.slow
def test_errors_are_at_most_those_of_direct_sums() -> None:
    graph = convolution(1, 16, 16, 96, 64)
    x = random_array(1, 16, 16, 96) + 100  # differences cancel
    errors = []
    for winograd in (True, False):
        with xtc.compile(graph, cache=False, threads=1, winograd=winograd) as module:
            result = module(x)
        errors.append(np.abs(result - graph.evaluate(x)).max())
    assert errors[0] < 4 * errors[1]


@pytest.mark.parametrize(
    ("shape", "padding"),
    [((1, 4, 4, 64, 64), 1), ((1, 28, 28, 24, 64), 1), ((1, 28, 28, 64, 8), 1)],
    ids=["few tiles", "few channels", "few features"],
)
def test_unprofitable_convolutions_are_direct(
    shape: tuple[int, int, int, int, int], padding: int
) -> None:
    assert not is_winograd(convolution(*shape, padding=padding))


def test_users_can_disable_winograd() -> None:
    graph = convolution(1, 14, 14, 64, 64)
    assert is_winograd(graph)
    assert not is_winograd(graph, winograd=False)
    assert not is_winograd(graph, schedule={"C": ["h", "w", "r", "s", "c", "f=vectorize"]})


@pytest.mark.slow
def test_epilogues_may_have_another_type() -> None:
    x, weights = (
        O.tensor((1, 12, 12, 64), "float32", name="X"),
        0.1 * random_array(3, 3, 64, 64),
    )
    with O.graph(name="halves") as graph:
        O.cast(O.conv2d(x, O.tensor(weights.shape, const=weights), padding=1), "float16")
    assert is_winograd(graph.graph)
    with xtc.compile(graph, cache=False, threads=1) as module:
        module.check(rtol=2e-3, atol=2e-3)


@pytest.mark.slow
def test_filters_of_two_convolutions_are_transformed_once(tmp_path: Path) -> None:
    weights = 0.1 * random_array(3, 3, 64, 64)
    x = O.tensor((1, 12, 12, 64), "float32", name="X")
    w = O.tensor(weights.shape, const=weights)
    with O.graph(name="twice") as graph:
        y = O.conv2d(O.relu(O.conv2d(x, w, padding=1)), w, padding=1)
        O.add(O.reduce_sum(O.relu(w)), y)
    with xtc.compile(graph, cache=False, threads=1) as module:
        module.check(rtol=1e-4, atol=1e-4)
        module.save(tmp_path / "twice")
    used = 4 * 64 * 64 * (9 + 16)
    assert (tmp_path / "twice" / "module.so").stat().st_size < used + 200_000


def random_graph(seed: int) -> xtc.Graph:
    """A convolution that may be divided, surrounded by random producers and consumers."""
    d = random.Random(seed)  # noqa: S311  no secret is drawn
    n, h, w = d.choice([1, 1, 2, 3]), d.randrange(12, 30), d.randrange(12, 30)
    c, f, padding = d.choice([64, 72, 96]), d.choice([64, 80]), d.choice([0, 1, 1, 2])
    x = O.tensor((n, h, w, c), "float32", name="X")
    with O.graph(name="g") as graph:
        y = convolved(x, f, padding)
        for number in range(d.randrange(4)):
            readers: list[Callable[[Tensor], Tensor]] = [
                O.relu,
                lambda y: O.add(y, O.tensor((f,), const=random_array(f))),
                lambda y: O.mul(O.tensor((f,), const=random_array(f)), y),
                partial(with_residual, name=f"R{number}"),
                lambda y: O.add(convolved(x, f, padding), y),
            ]
            y = d.choice(readers)(y)
        last: list[Callable[[Tensor], Tensor]] = [
            O.relu,
            lambda y: O.concat(y, O.relu(y), axis=3),
            lambda y: convolved(y, 64, 1),
            lambda y: O.reduce_mean(y, axes=(1, 2)),
        ]
        d.choice(last)(y)
    return graph.graph


def with_residual(y: Tensor, name: str) -> Tensor:
    return O.add(y, O.tensor(y.shape, "float32", name=name))


def convolved(x: Tensor, features: int, padding: int) -> Tensor:
    weights = 0.05 * random_array(3, 3, int(x.shape[3]), features)
    return O.conv2d(x, O.tensor(weights.shape, const=weights), padding=padding)


@pytest.mark.slow
def test_random_graphs_around_convolutions(is_long: bool) -> None:
    count = 100 if is_long else 2
    options = ({"threads": 1}, {"threads": 2, "l2_bytes": 1 << 19}, {"l2_bytes": 1 << 23})
    divided = 0
    for seed in range(count):
        graph, given = random_graph(seed), options[seed % len(options)]
        divided += is_winograd(graph, **given)
        with xtc.compile(graph, cache=False, **given) as module:
            module.check(rtol=2e-5, atol=2e-5)
    assert divided >= count // 2

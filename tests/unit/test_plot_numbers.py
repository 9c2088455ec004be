# SPDX-License-Identifier: Apache-2.0
"""The numbers of plots."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.plots_support import a_product, failed, measured, right
from xtc.core.errors import UserError
from xtc.search.plots.comparison import comparison, shares
from xtc.search.plots.convergence import Step, steps
from xtc.search.plots.distribution import bins
from xtc.search.plots.heatmap import heat_map_of, parameters_by_effect
from xtc.search.plots.roofline import roofline_of


def test_the_best_so_far_never_decreases() -> None:
    run = measured(failed(at=0.5), right(0.02, 1.0), right(0.04, 2.0), right(0.01, 3.5))
    assert steps(run) == [
        Step(1, 0.5, None, None),
        Step(2, 1.0, 50.0, 50.0),
        Step(3, 2.0, 25.0, 50.0),
        Step(4, 3.5, 100.0, 100.0),
    ]


def test_graphs_without_operations_are_rated_in_calls() -> None:
    run = measured(right(0.02), run=replace(a_product(), flops=0))
    assert (run.unit, run.correct[0][1], run.peak) == ("calls/s", 50.0, None)


def test_the_best_schedules_are_distinct_and_the_default_is_marked() -> None:
    run = measured(
        right(0.02, schedule=""), right(0.04, schedule="a"), right(0.01, schedule="a"), failed()
    )
    assert [(point.schedule, speed) for point, speed in run.best] == [("a", 100.0), ("", 50.0)]
    assert run.default == 50.0
    assert run.statuses == {"ok": 3, "crashed": 1}
    assert measured(right(0.02)).default is None


def test_every_correct_result_is_in_one_bin() -> None:
    run = measured(failed(), *(right(0.01 * count) for count in range(1, 41)))
    edges, counts = bins(run)
    assert sum(counts) == 40
    assert len(edges) == len(counts) + 1 == 21
    assert edges[0] == 0.0
    assert edges[-1] == pytest.approx(100.0)
    assert counts[-1] == 1  # 100 GFLOP/s alone is above 95
    assert counts[0] == 20  # below 5 GFLOP/s: those that take more than 0.2 s


def test_equal_speeds_have_bins() -> None:
    edges, counts = bins(measured(right(0.01), right(0.01)))
    assert (counts, edges[-1]) == ([0, 0, 0, 0, 2], 100.0)


def test_the_roof_is_the_lower_of_both_limits() -> None:
    numbers = roofline_of(measured(right(0.02, schedule="b"), right(0.01), failed()))
    assert (numbers.intensity, numbers.peak, numbers.bandwidth) == (10.0, 200.0, 5.0)
    assert numbers.speeds == (100.0, 50.0)
    assert [numbers.roof(x) for x in (1.0, 10.0, 40.0, 100.0)] == [5.0, 50.0, 200.0, 200.0]


def test_without_a_bandwidth_the_peak_is_the_roof() -> None:
    numbers = roofline_of(measured(right(0.01), run=replace(a_product(), bandwidth=None)))
    assert numbers.roof(0.1) == 200.0


@pytest.mark.parametrize(
    ("change", "text"),
    [({"flops": 0}, "operations are not counted"), ({"peak": None}, "was not measured")],
)
def test_no_roofline_without_its_numbers(change: dict[str, None], text: str) -> None:
    with pytest.raises(UserError, match=text):
        roofline_of(measured(right(0.01), run=replace(a_product(), **change)))


def a_space() -> list[object]:
    """`k` determines the speed, `i` changes it a little, `j` is constant."""
    return [right(0.1 / k + 0.001 * i, i=i, j=7, k=k) for i in (1, 2) for k in (1, 2, 4)]


def test_parameters_with_most_effect_come_first() -> None:
    assert parameters_by_effect(measured(*a_space())) == ["k", "i"]


def test_the_heat_map_has_the_best_of_each_cell() -> None:
    more = [right(0.05, i=1, j=7, k=1), failed(i=2, j=7, k=8), failed(i=1, j=7, k=1), right(0.5)]
    numbers = heat_map_of(measured(*a_space(), *more))
    assert (numbers.x, numbers.y) == ("k", "i")
    assert (numbers.columns, numbers.rows) == ((1, 2, 4, 8), (1, 2))
    assert numbers.best[(1, 1)] == pytest.approx(20.0)  # 0.05 s, not 0.101 s
    assert numbers.best[(4, 2)] == pytest.approx(1 / 0.027)
    assert numbers.best[(8, 2)] is None
    assert (8, 1) not in numbers.best


def test_parameters_may_be_chosen() -> None:
    run = measured(*a_space())
    assert (heat_map_of(run, "i").x, heat_map_of(run, "i").y) == ("i", "k")
    assert (heat_map_of(run, y="k").x, heat_map_of(run, y="k").y) == ("i", "k")


@pytest.mark.parametrize(
    ("x", "y", "text"),
    [
        ("kk", None, "has no parameter 'kk'\n  hint: did you mean 'k'"),
        (None, "j", "'j' has the same value in all of run 1"),
        ("k", "k", "x and y are both 'k'"),
    ],
)
def test_constant_parameters_are_refused(x: str | None, y: str | None, text: str) -> None:
    with pytest.raises(UserError, match=text):
        heat_map_of(measured(*a_space()), x, y)


def test_a_single_parameter_gives_no_heat_map() -> None:
    with pytest.raises(UserError, match="run 1 varied one parameter\n  note: it is 'i'"):
        heat_map_of(measured(right(0.1, i=1), right(0.2, i=2)))
    with pytest.raises(UserError, match="run 1 varied no parameter"):
        heat_map_of(measured(right(0.1)))


def test_a_parameter_with_too_many_values_is_omitted() -> None:
    run = measured(*(right(0.1 + n * 1e-3, i=n, j=n % 2, k=n % 3) for n in range(129)))
    assert parameters_by_effect(run) == ["k", "j"]
    with pytest.raises(UserError, match="'i' has 129 values"):
        heat_map_of(run, "i")


def test_shares_cover_all_results() -> None:
    run = measured(failed(), right(0.01), right(0.02), right(0.04))
    assert shares(run) == [(25.0, 0.75), (50.0, 0.5), (100.0, 0.25)]


def test_runs_of_different_graphs_are_not_compared() -> None:
    first = measured(right(0.01))
    second = measured(right(0.02), run=replace(a_product(), number=2, seed=9, sampler="model"))
    assert comparison(first, second).caption.endswith("They differ in: sampler, seed.")
    with pytest.raises(UserError, match="run 1 is compared with itself"):
        comparison(first, first)
    other = measured(right(0.02), run=replace(second.run, graph="1" * 64))
    with pytest.raises(UserError, match="runs 1 and 2 searched different graphs"):
        comparison(first, other)

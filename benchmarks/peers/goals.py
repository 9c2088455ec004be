# SPDX-License-Identifier: Apache-2.0
"""The performance goals of this project, and whether a run met them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.peers.libraries import OURS
from benchmarks.peers.results import Row, geometric_mean

Values = Sequence[tuple[str, float]]


@dataclass(frozen=True)
class Goal:
    """A lower bound on a figure of some rows.

    Attributes:
        what: the goal in words.
        least: the bound.
        applies: selects the rows.
        value: the figure of such a row; None if it was not measured.
        together: whether the bound is on the geometric mean of the values instead of each value.
    """

    what: str
    least: float
    applies: Callable[[Row], bool]
    value: Callable[[Row], float | None]
    together: bool = False


@dataclass(frozen=True)
class Verdict:
    """A goal with its result: "met", "missed" or "not measured", and the values that missed it."""

    goal: Goal
    state: str
    missed: Values


def verdicts(rows: Sequence[Row]) -> Iterator[Verdict]:
    """One verdict per goal, in order, from the undisturbed rows."""
    calm = [row for row in rows if not row.is_disturbed]
    for goal in GOALS:
        yield _judged(goal, [row for row in calm if goal.applies(row)])


def _judged(goal: Goal, rows: Sequence[Row]) -> Verdict:
    """Rows without a value count as missed if others have one, or if the result was wrong."""
    found = [(row, goal.value(row)) for row in rows]
    values = [(_name(row), value) for row, value in found if value is not None]
    wrong = [(f"{_name(row)} is wrong", 0.0) for row in rows if OURS.name in row.wrong]
    if not values and not wrong:
        return Verdict(goal, "not measured", [])
    if goal.together and values:
        mean = geometric_mean(value for _, value in values)
        values = [(f"geometric mean of {len(values)}", mean or 0.0)]
    missed = [(name, value) for name, value in values if value < goal.least] + wrong
    gone = [row for row, value in found if value is None and OURS.name not in row.wrong]
    missed += [(f"{_name(row)} was not compared", 0.0) for row in gone]
    return Verdict(goal, "missed" if missed else "met", missed)


def _name(row: Row) -> str:
    return f"{row.workload.name}, {row.threads} thread{'' if row.threads == 1 else 's'}"


def _single(row: Row) -> bool:
    return row.threads == 1 and row.workload.dtype == "float32"


def _sizes(*goals: str) -> Callable[[Row], bool]:
    return lambda row: _single(row) and bool(row.workload.goals & set(goals))


def _two_threads(row: Row) -> bool:
    large = {"cube 512", "cube 1024", "cube 2048"}
    return row.threads == 2 and row.workload.dtype == "float32" and bool(row.workload.goals & large)


def _better_ratio(row: Row) -> float | None:
    """The ratio of medians or of best samples, whichever is higher.

    If the processors are shared with other programs, medians mostly reflect these.
    """
    values = [row.fraction(), row.fraction(kind="best")]
    return max((value for value in values if value is not None), default=None)


GOALS = (
    Goal(
        "f32 matmul of 256 and 512, 1 thread: 0.95 of the multiply-add peak",
        0.95,
        _sizes("cube 256", "cube 512"),
        Row.fraction,
    ),
    Goal(
        "f32 matmul of 1024 and 2048, 1 thread: 0.92 of the multiply-add peak",
        0.92,
        _sizes("cube 1024", "cube 2048"),
        Row.fraction,
    ),
    Goal(
        "3x3 convolutions of 64 channels or more, 1 thread: 0.93 of the multiply-add peak",
        0.93,
        _sizes("conv 3x3"),
        Row.fraction,
    ),
    Goal("every workload: 1.0 of the best library", 1.0, lambda row: True, Row.ratio),
    Goal(
        "all workloads: 1.1 of each one's best library in the geometric mean",
        1.1,
        lambda row: True,
        Row.ratio,
        together=True,
    ),
    Goal(
        "matrix times vector and elementwise, 1 thread: 0.9 of the memory's rate",
        0.9,
        _sizes("gemv", "elementwise"),
        Row.fraction,
    ),
    Goal(
        "f32 matmul of 512, 1024 and 2048, 2 threads: 0.85 of their peak, best samples included",
        0.85,
        _two_threads,
        _better_ratio,
    ),
)

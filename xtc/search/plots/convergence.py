# SPDX-License-Identifier: Apache-2.0
"""How fast a search found what it found: the best so far over measurements and over seconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from xtc.search.plots.measured import Measured
from xtc.search.plots.picture import BLUE, MUTED, ROSE, TEAL, Picture, label


@dataclass(frozen=True)
class Step:
    """One measurement of a search.

    Attributes:
        number: its position, from 1.
        at: seconds of the run when its result was there.
        speed: in the unit of the run; None if the result is not right.
        best: the highest speed so far, None before the first right result.
    """

    number: int
    at: float
    speed: float | None
    best: float | None


def steps(measured: Measured) -> list[Step]:
    """Every measurement in order."""
    found: list[Step] = []
    best: float | None = None
    for number, result in enumerate(measured.results, 1):
        speed = measured.speed(result.seconds) if result.seconds else None
        best = max((value for value in (best, speed) if value is not None), default=None)
        found.append(Step(number, result.at, speed, best))
    return found


def convergence(measured: Measured) -> Picture:
    """The plot of one run."""
    taken, run = steps(measured), measured.run
    return Picture(
        "convergence",
        f"Convergence: run {run.number} of {label(run.name)}",
        "The line is the best speed so far, each dot a candidate that was right, and each cross at "
        "the bottom one that was not.",
        [
            partial(_draw, measured, [float(trial.number) for trial in taken], "measurement"),
            partial(_draw, measured, [trial.at for trial in taken], "time of the search (s)"),
        ],
    )


def _draw(measured: Measured, positions: Sequence[float], what: str, axes: Any) -> None:
    taken = list(zip(positions, steps(measured), strict=True))
    right = [(x, trial.speed) for x, trial in taken if trial.speed is not None]
    best = [(x, trial.best) for x, trial in taken if trial.best is not None]
    failed = [x for x, trial in taken if trial.speed is None]
    axes.plot(*_columns(right), ".", color=TEAL, markersize=4, alpha=0.6, label="right")
    axes.step(*_columns(best), where="post", color=BLUE, linewidth=1.8, label="best so far")
    if failed:
        bottom = axes.get_xaxis_transform()
        axes.plot(
            failed, [0.02] * len(failed), "x", color=ROSE, ms=4, label="not right", transform=bottom
        )
    if measured.default is not None:
        axes.axhline(measured.default, color=MUTED, linestyle="--", label="default schedule")
    axes.set(xlabel=what, ylabel=f"speed ({measured.unit}, measured)")
    axes.set(xlim=(0, None), ylim=(0, None))
    axes.legend(loc="lower right", bbox_to_anchor=(1, 0.05))  # above the crosses


def _columns(pairs: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in pairs], [y for _, y in pairs]

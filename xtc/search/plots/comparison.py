# SPDX-License-Identifier: Apache-2.0
"""The comparison plot: two runs that searched the same graph."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from xtc.core.errors import UserError
from xtc.search.plots.convergence import steps
from xtc.search.plots.measured import Measured
from xtc.search.plots.picture import AMBER, BLUE, Picture, label

_COLORS = (BLUE, AMBER)
_LINES = ("-", "--")


def shares(measured: Measured) -> list[tuple[float, float]]:
    """Speeds of correct results, ascending, each with the share of results that reach it."""
    speeds = sorted(speed for _, speed in measured.correct)
    return [
        (speed, (len(speeds) - rank) / len(measured.results)) for rank, speed in enumerate(speeds)
    ]


def comparison(first: Measured, second: Measured) -> Picture:
    """The plot of two runs. Raises UserError if they are equal, or searched different graphs."""
    earlier, other = first.run, second.run
    if earlier.number == other.number:
        raise UserError(f"run {earlier.number} is compared with itself", hints=["name another run"])
    if (earlier.graph, earlier.flops) != (other.graph, other.flops):
        raise UserError(
            f"runs {earlier.number} and {other.number} searched different graphs",
            notes=[f"{label(earlier.name)} and {label(other.name)}"],
        )
    return Picture(
        "comparison",
        f"Runs {earlier.number} and {other.number} of {label(earlier.name)}",
        "On the left the best speed so far, on the right the share of candidates that reach a "
        f"speed. {_differences(first, second)}",
        [partial(_draw_best, (first, second)), partial(_draw_shares, (first, second))],
    )


def _differences(first: Measured, second: Measured) -> str:
    """The differences between the settings of the two runs."""
    names = ("target", "options", "machine", "strategy", "sampler", "seed", "budget", "versions")
    found = [name for name in names if getattr(first.run, name) != getattr(second.run, name)]
    return f"They differ in: {', '.join(found) or 'none of their settings'}."


def _name(measured: Measured) -> str:
    run = measured.run
    return f"run {run.number}: {label(run.strategy)}, {label(run.sampler)}"


def _draw_best(runs: Sequence[Measured], axes: Any) -> None:
    for measured, color, line in zip(runs, _COLORS, _LINES, strict=True):
        taken = [step for step in steps(measured) if step.best is not None]
        axes.step(
            [trial.at for trial in taken] + [max(measured.run.seconds, taken[-1].at)],
            [trial.best for trial in taken] + [taken[-1].best],
            where="post",
            color=color,
            linestyle=line,
            label=_name(measured),
        )
    axes.set(xlabel="time of the search (s)", ylabel=f"best speed ({runs[0].unit}, measured)")
    axes.set(ylim=(0, None))
    axes.legend(loc="lower right")


def _draw_shares(runs: Sequence[Measured], axes: Any) -> None:
    for measured, color, line in zip(runs, _COLORS, _LINES, strict=True):
        reached = [(0.0, len(measured.correct) / len(measured.results)), *shares(measured)]
        axes.step(
            [speed for speed, _ in reached],
            [100 * share for _, share in reached],
            where="pre",
            color=color,
            linestyle=line,
            label=_name(measured),
        )
    axes.set(xlabel=f"speed ({runs[0].unit}, measured)", ylabel="candidates as fast (%)")
    axes.set(xlim=(0, None), ylim=(0, 105))

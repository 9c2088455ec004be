# SPDX-License-Identifier: Apache-2.0
"""The heat map: speed by two parameters of a strategy."""

from __future__ import annotations

import statistics
from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from xtc.core.errors import UserError, did_you_mean
from xtc.search.plots.measured import Measured
from xtc.search.plots.picture import MUTED, Picture, label

_LEVELS = 12  # colors; few, so that regions are visible
_MOST_VALUES = 128  # of a parameter
_FEW_VALUES = 24  # so that numbers fit into cells


@dataclass(frozen=True)
class HeatMap:
    """The numbers of the plot.

    Attributes:
        x: the parameter on the horizontal axis.
        y: the parameter on the vertical axis.
        columns: the values of x.
        rows: the values of y.
        best: the highest speed for values of x and y, over all other parameters; None if
            candidates were tried and none was correct.
    """

    x: str
    y: str
    columns: tuple[int, ...]
    rows: tuple[int, ...]
    best: dict[tuple[int, int], float | None]


def parameters_by_effect(measured: Measured) -> list[str]:
    """Parameters with 2 to 128 values, those with most effect first.

    The effect of a parameter is the share of the variance of speeds between its values.
    """
    names = sorted({name for result in measured.results for name in result.parameters})
    varied = [name for name in names if 1 < len(_values(measured, name)) <= _MOST_VALUES]
    return sorted(varied, key=lambda name: (-_explained(measured, name), name))


def heat_map_of(measured: Measured, x: str | None = None, y: str | None = None) -> HeatMap:
    """The heat map; the default parameters are those with most effect.

    Raises UserError for an unknown parameter, or if only one has several values.
    """
    there = parameters_by_effect(measured)
    for name in (x, y):
        if name is not None and name not in there:
            _refuse(measured, name, there)
    if x is not None and x == y:
        raise UserError(f"x and y are both {x!r}", hints=["name two parameters"])
    rest = [name for name in there if name not in (x, y)]
    chosen = [name if name is not None else (rest.pop(0) if rest else None) for name in (x, y)]
    if chosen[0] is None or chosen[1] is None:
        raise UserError(
            f"run {measured.run.number} varied {'one parameter' if there else 'no parameter'}",
            notes=[f"it is {label(there[0])!r}"] if there else [],
            hints=["a heat map shows two"],
        )
    return _map(measured, chosen[0], chosen[1])


def _refuse(measured: Measured, name: str, there: list[str]) -> None:
    number = measured.run.number
    if values := _values(measured, name):
        count = "the same value" if len(values) == 1 else f"{len(values)} values"
        raise UserError(
            f"{name!r} has {count} in all of run {number}",
            hints=[f"a heat map shows parameters of 2 to {_MOST_VALUES} values"],
        )
    raise UserError(
        f"run {number} has no parameter {name!r}",
        hints=did_you_mean(name, [label(parameter) for parameter in there]),
    )


def _map(measured: Measured, x: str, y: str) -> HeatMap:
    best: dict[tuple[int, int], float | None] = {}
    for result in measured.results:
        if x in result.parameters and y in result.parameters:
            cell = (result.parameters[x], result.parameters[y])
            speed = measured.speed(result.seconds) if result.seconds else None
            before = best.get(cell)
            best[cell] = max((v for v in (before, speed) if v is not None), default=None)
    columns, rows = (tuple(sorted({cell[at] for cell in best})) for at in (0, 1))
    return HeatMap(x, y, columns, rows, best)


def _values(measured: Measured, name: str) -> set[int]:
    return {result.parameters[name] for result in measured.results if name in result.parameters}


def _explained(measured: Measured, name: str) -> float:
    groups: dict[int | None, list[float]] = defaultdict(list)
    for result, speed in measured.correct:
        if result.parameters:
            groups[result.parameters.get(name)].append(speed)
    every = [speed for group in groups.values() for speed in group]
    if not every or (total := statistics.pvariance(every) * len(every)) == 0:
        return 0.0
    middle = statistics.fmean(every)
    between = sum(len(g) * (statistics.fmean(g) - middle) ** 2 for g in groups.values())
    return between / total


def heat_map(measured: Measured, x: str | None = None, y: str | None = None) -> Picture:
    """The plot of one run. Raises UserError."""
    numbers, run = heat_map_of(measured, x, y), measured.run
    return Picture(
        "heatmap",
        f"Parameters: run {run.number} of {label(run.name)}",
        "The highest speed of all candidates with these two values, over all other parameters. "
        "A cross: tried, but never correct. Empty: not tried.",
        [partial(_draw, numbers, measured.unit)],
        width=max(5.0, min(12.0, 2.6 + 0.5 * len(numbers.columns))),
        height=max(3.5, min(10.0, 1.6 + 0.32 * len(numbers.rows))),
    )


def _draw(numbers: HeatMap, unit: str, axes: Any) -> None:
    from matplotlib import colormaps

    speeds = [
        [_number(numbers.best.get((column, row))) for column in numbers.columns]
        for row in numbers.rows
    ]
    colors = colormaps["viridis"].resampled(_LEVELS)
    top = np.nanmax(speeds) if np.isfinite(speeds).any() else 1.0
    mesh = axes.pcolormesh(np.ma.masked_invalid(speeds), cmap=colors, vmin=0.0, vmax=top)
    axes.figure.colorbar(mesh, ax=axes, label=f"best speed ({unit}, measured)")
    many = max(len(numbers.columns), len(numbers.rows)) > _FEW_VALUES
    for (column, row), speed in numbers.best.items():
        x, y = numbers.columns.index(column) + 0.5, numbers.rows.index(row) + 0.5
        if speed is None:
            axes.text(x, y, "×", ha="center", va="center", color=MUTED)
        elif not many:
            color = "#000000" if speed > 0.6 * top else "#ffffff"
            axes.text(x, y, f"{speed:.3g}", ha="center", va="center", color=color, fontsize=7)
    axes.set_xticks([at + 0.5 for at in range(len(numbers.columns))], map(str, numbers.columns))
    axes.set_yticks([at + 0.5 for at in range(len(numbers.rows))], map(str, numbers.rows))
    if many:
        axes.tick_params(labelsize=5)
        axes.tick_params(axis="x", labelrotation=90)
    axes.set(xlabel=f"parameter {label(numbers.x)}", ylabel=f"parameter {label(numbers.y)}")
    axes.grid(visible=False)


def _number(speed: float | None) -> float:
    return float("nan") if speed is None else speed

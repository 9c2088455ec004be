# SPDX-License-Identifier: Apache-2.0
"""The distribution plot: speeds of correct candidates, and outcomes of all."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from xtc.search.plots.measured import Measured
from xtc.search.plots.picture import BLUE, INK, MUTED, ROSE, TEAL, Picture, label

_MOST_BINS = 30


def bins(measured: Measured) -> tuple[list[float], list[int]]:
    """Edges of equal bins from speed 0 to the highest one, and the correct results in each."""
    speeds = [speed for _, speed in measured.correct]
    count = min(_MOST_BINS, max(5, len(speeds) // 2))
    counts, edges = np.histogram(speeds, bins=count, range=(0.0, max(speeds)))
    return edges.tolist(), counts.tolist()


def distribution(measured: Measured) -> Picture:
    """The plot of one run."""
    run = measured.run
    return Picture(
        "distribution",
        f"Distribution: run {run.number} of {label(run.name)}",
        "On the left the speeds of the correct candidates, on the right the outcomes of all "
        "candidates.",
        [partial(_draw_speeds, measured), partial(_draw_statuses, measured)],
    )


def _draw_speeds(measured: Measured, axes: Any) -> None:
    edges, counts = bins(measured)
    axes.stairs(counts, edges, fill=True, color=TEAL, alpha=0.75)
    best = max(speed for _, speed in measured.correct)
    axes.axvline(best, color=BLUE, label="best")
    if measured.default is not None:
        axes.axvline(measured.default, color=MUTED, linestyle="--", label="default schedule")
    axes.set(xlabel=f"speed ({measured.unit}, measured)", ylabel="measurements (correct)")
    axes.legend(loc="upper left")


def _draw_statuses(measured: Measured, axes: Any) -> None:
    counts = measured.statuses
    colors = [TEAL if status == "ok" else ROSE for status in counts]
    bars = axes.barh(list(counts), list(counts.values()), color=colors, alpha=0.75)
    axes.bar_label(bars, color=INK, padding=3)
    axes.margins(x=0.15)
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.set(xlabel="measurements", ylabel="status")

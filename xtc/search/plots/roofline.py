# SPDX-License-Identifier: Apache-2.0
"""What the machine allows, beside what the best candidates reach.

The roofline model of S. Williams, A. Waterman and D. Patterson (Communications of the ACM 52(4),
2009): no faster than the peak of multiply-adds, nor than memory delivers operands.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from xtc.core.errors import UserError
from xtc.search.plots.measured import Measured
from xtc.search.plots.picture import AMBER, BLUE, INK, MUTED, TEAL, Picture, label

_BEST = 5
_GIGA = 1e9


@dataclass(frozen=True)
class Roofline:
    """The numbers of the plot.

    Attributes:
        intensity: operations for each byte of all arguments, each counted once.
        peak: of multiply-adds in GFLOP/s.
        bandwidth: rate of reading memory in GB/s, None if it was not measured.
        speeds: of the right candidates in GFLOP/s, the best of each schedule, the fastest first.
        default: that of the default schedule.
    """

    intensity: float
    peak: float
    bandwidth: float | None
    speeds: tuple[float, ...]
    default: float | None

    def roof(self, intensity: float) -> float:
        """GFLOP/s that peak and memory allow at an intensity in operations per byte."""
        return self.peak if self.bandwidth is None else min(self.peak, self.bandwidth * intensity)


def roofline_of(measured: Measured) -> Roofline:
    """Raises UserError if operations, bytes or the peak are not known."""
    run = measured.run
    if not run.flops or not run.nbytes:
        raise UserError(f"run {run.number} has no roofline: its graph's operations are not counted")
    if measured.peak is None:
        raise UserError(
            f"run {run.number} has no roofline: the machine's peak was not measured",
            notes=[f"of {label(run.dtype)} on {label(run.machine)}"],
        )
    return Roofline(
        run.flops / run.nbytes,
        measured.peak,
        run.bandwidth / _GIGA if run.bandwidth else None,
        tuple(speed for _, speed in measured.best),
        measured.default,
    )


def roofline(measured: Measured) -> Picture:
    """The plot of one run. Raises UserError."""
    numbers, run = roofline_of(measured), measured.run
    best, allowed = numbers.speeds[0], numbers.roof(numbers.intensity)
    caption = (
        f"The best candidate reaches {best / allowed:.0%} of the roof and "
        f"{best / numbers.peak:.0%} of the {label(run.dtype)} peak. The roofs were measured at the "
        "beginning of the run. Arguments that fit in the caches may come faster than memory "
        "delivers."
    )
    return Picture(
        "roofline",
        f"Roofline: run {run.number} of {label(run.name)}",
        caption if numbers.bandwidth else f"{caption} The rate of memory was not measured.",
        [partial(_draw, numbers)],
        width=7.0,
        height=4.5,
    )


def _draw(numbers: Roofline, axes: Any) -> None:
    from matplotlib.ticker import LogLocator

    low, high = _range(numbers)
    intensities = np.geomspace(low, high, 200).tolist()
    axes.plot(intensities, [numbers.roof(x) for x in intensities], color=INK, linewidth=1.6)
    axes.text(
        high,
        numbers.peak * 1.06,
        f"multiply-adds, measured: {numbers.peak:.4g} GFLOP/s",
        ha="right",
        va="bottom",
        fontsize=8,
    )
    if numbers.bandwidth is not None:
        text = f"memory, measured: {numbers.bandwidth:.4g} GB/s"
        axes.plot([], [], " ", label=text)
    _draw_candidates(numbers, axes)
    for scale, axis in ((axes.set_xscale, axes.xaxis), (axes.set_yscale, axes.yaxis)):
        scale("log")
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter("")
    axes.set(
        xlabel="operational intensity (FLOP for each byte of the arguments)",
        ylabel="speed (GFLOP/s, measured)",
        ylim=(None, numbers.peak * 2),
    )
    axes.legend(loc="lower right")


def _draw_candidates(numbers: Roofline, axes: Any) -> None:
    best, others = numbers.speeds[:_BEST], numbers.speeds[_BEST:]
    x = numbers.intensity
    if others:
        axes.plot([x] * len(others), others, ".", color=TEAL, alpha=0.4, label="other candidates")
    axes.plot([x] * len(best), best, "*", color=BLUE, ms=8, label=f"the {len(best)} best")
    if numbers.default is not None:
        axes.plot([x], [numbers.default], "o", color=AMBER, mfc="none", label="default schedule")
    axes.axvline(x, color=MUTED, linewidth=0.6, linestyle=":")


def _range(numbers: Roofline) -> tuple[float, float]:
    """Intensities to show: that of the graph, and the ridge where the roofs meet."""
    ridge = numbers.peak / numbers.bandwidth if numbers.bandwidth else numbers.intensity
    return min(ridge, numbers.intensity) / 8, max(ridge, numbers.intensity) * 8

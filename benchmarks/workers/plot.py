# SPDX-License-Identifier: Apache-2.0
"""Draws the results of benchmarks/host.py: `python plot.py RESULTS.json PLOT.svg`, with matplotlib.

One panel for each unit and number of threads; for each workload the median of every candidate and
its range from the tenth to the ninetieth percentile, and a line for the machine.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")

from matplotlib import pyplot as plt

_INCHES_A_ROW = 0.32
_MARKERS = "osDv^<>Pp*"


def main(results: Path, picture: Path) -> None:
    """Read the results and write the picture."""
    rows = json.loads(results.read_text(encoding="utf-8"))["rows"]
    keys = list(dict.fromkeys((row["unit"], row["threads"]) for row in rows))
    panels = [[row for row in rows if (row["unit"], row["threads"]) == key] for key in keys]
    heights = [max(3, len(panel)) + 2 for panel in panels]
    mpl.rcParams["svg.hashsalt"] = "bench-host"
    figure, axes = plt.subplots(
        len(panels),
        figsize=(10, _INCHES_A_ROW * sum(heights) + 0.5),
        gridspec_kw={"height_ratios": heights},
        squeeze=False,
        layout="constrained",
    )
    names = sorted({name for row in rows for name in row["candidates"]}, key=_ours_first)
    for (unit, threads), panel, (axis,) in zip(keys, panels, axes, strict=True):
        _draw(axis, panel, names)
        axis.set_title(f"{threads} thread{'' if threads == 1 else 's'}", loc="left")
        axis.set_xlabel(unit)
    handles = {
        label: handle
        for axis in axes[:, 0]
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    figure.legend(handles.values(), handles, loc="outside upper center", ncols=6, fontsize="small")
    figure.savefig(picture, metadata={"Date": None})


def _ours_first(name: str) -> tuple[bool, str]:
    return name not in ("ours", "tuned"), name


def _draw(axis: Any, rows: list[dict[str, Any]], names: list[str]) -> None:
    for position, name in enumerate(names):
        ran = [
            (at, row["candidates"][name])
            for at, row in enumerate(rows)
            if name in row["candidates"]
        ]
        middles = [timing["median"] for _, timing in ran]
        ranges = [
            [max(0.0, timing["median"] - timing["p10"]) for _, timing in ran],
            [max(0.0, timing["p90"] - timing["median"]) for _, timing in ran],
        ]
        axis.errorbar(
            middles,
            [at + 0.06 * (position - len(names) / 2) for at, _ in ran],
            xerr=ranges,
            fmt=_MARKERS[position % len(_MARKERS)],
            markersize=6 if name == "ours" else 4,
            color=f"C{position % 10}",
            elinewidth=0.8,
            label=name,
        )
    _draw_machine(axis, rows)
    axis.set_yticks(range(len(rows)), [row["workload"]["name"] for row in rows], fontsize="small")
    axis.set_ylim(len(rows) - 0.5, -0.5)
    axis.set_xlim(left=0)
    axis.grid(axis="x", alpha=0.3)


def _draw_machine(axis: Any, rows: list[dict[str, Any]]) -> None:
    """Draw the machine's rate in the same rounds as a short line."""
    label: str | None = "machine"
    for at, row in enumerate(rows):
        compute = row["unit"] == "GFLOP/s"
        machine = row["fma_gflops"] if compute else row["traffic_gbytes"]
        if machine is not None:
            axis.vlines(machine["median"], at - 0.4, at + 0.4, colors="black", label=label)
            label = None


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))

# SPDX-License-Identifier: Apache-2.0
"""xtc-plot: plot the measurements of an xtc-tune search."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from xtc.cli.common import guarded, write_bytes, write_output
from xtc.core.errors import UserError
from xtc.search.plots import Measured, Picture, png_bytes, report_text, svg_text
from xtc.search.plots.comparison import comparison
from xtc.search.plots.convergence import convergence
from xtc.search.plots.distribution import distribution
from xtc.search.plots.heatmap import heat_map
from xtc.search.plots.roofline import roofline
from xtc.search.store import Store

PLOTS = {
    "convergence": "the best result so far, over measurements and over seconds",
    "distribution": "speeds of the candidates, and their outcomes",
    "roofline": "the best candidates under the machine's measured rooflines",
    "heatmap": "speed by two parameters of the strategy",
    "comparison": "two runs of one graph",
    "report": "all plots in one HTML page",
}


def _parser() -> argparse.ArgumentParser:
    lines = [f"  {name:<13} {what}" for name, what in PLOTS.items()]
    parser = argparse.ArgumentParser(
        prog="xtc-plot",
        description="Plot the measurements of an xtc-tune search.",
        epilog="\n".join(["plots:", *lines]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("plot", choices=PLOTS, metavar="PLOT", help=", ".join(PLOTS))
    add("--output", "-o", type=Path, help="FILE.svg, FILE.png or FILE.html (default: print it)")
    add("--run", type=int, metavar="N", help="the run to plot (default: the newest)")
    add("--with", type=int, metavar="N", dest="other", help="the run to compare with")
    add("--x", metavar="NAME", help="parameter on the heat map's horizontal axis")
    add("--y", metavar="NAME", help="on the vertical axis (default: those with most effect)")
    add("--db", type=Path, help="the database (default: the user's own, or XTC_TUNING_DB)")
    return parser


def run(argv: Sequence[str]) -> int:
    """The command on its arguments; returns the exit code. Raises XtcError."""
    args = _parser().parse_args(argv)
    form = _form(args.plot, args.output)
    if args.other is None and args.plot == "comparison":
        raise UserError(
            "a comparison needs a second run", hints=["--with N; `xtc-tune --list` lists them"]
        )
    with Store(args.db, create=False) as store:
        measured = Measured.of(store, args.run)
        other = None if args.other is None else Measured.of(store, args.other)
    if form == ".html":
        write_output(report_text(measured, other, args.x, args.y), args.output)
        return 0
    picture = _picture(args, measured, other)
    if form == ".png":
        write_bytes(png_bytes(picture), args.output)
    else:
        write_output(svg_text(picture), args.output)
    return 0


def _form(plot: str, output: Path | None) -> str:
    """The kind of file to write. Raises UserError for an unsupported one."""
    forms = (".html",) if plot == "report" else (".svg", ".png")
    if output is None:
        return forms[0]
    form = output.suffix.lower()
    if form not in forms:
        raise UserError(
            f"{plot} is written as {' or '.join(forms)}, not as {output.name}",
            hints=["xtc-plot report -o FILE.html"] if form == ".html" else [],
        )
    return form


def _picture(args: argparse.Namespace, measured: Measured, other: Measured | None) -> Picture:
    if other is not None and args.plot == "comparison":
        return comparison(measured, other)
    if args.plot == "heatmap":
        return heat_map(measured, args.x, args.y)
    draw = {"convergence": convergence, "distribution": distribution, "roofline": roofline}
    return draw[args.plot](measured)


def main() -> int:
    """Entry point of `xtc-plot`."""
    return guarded(run, "xtc-plot")


if __name__ == "__main__":
    sys.exit(main())

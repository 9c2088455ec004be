# SPDX-License-Identifier: Apache-2.0
"""Compile two small networks, classify 500 handwritten digits, and compare with NumPy.

Run as `make demo`, or `python -m examples.digits.demo --help`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from examples.digits import data, report
from examples.digits.demo_targets import TARGETS, DemoTarget, left_out
from examples.digits.models import MODELS, DemoModel
from examples.digits.run import Outcome, run
from xtc.core.errors import UserError, XtcError, did_you_mean

T = TypeVar("T")


def main(argv: Sequence[str] | None = None) -> int:
    """The demo's exit code: 0, or 1 if a run failed or is less accurate than NumPy."""
    console, errors = Console(), Console(stderr=True)
    try:
        args = arguments(argv)
        missing = {} if args.targets else left_out()
        names = args.targets or [name for name in TARGETS if name not in missing]
        models, targets = chosen(MODELS, args.models), chosen(TARGETS, names)
        _, test = data.load_split()
        outcomes = run_all(models, targets, test, args.batch, console)
    except XtcError as error:
        errors.print(f"error: {error}", markup=False, highlight=False)
        return 1
    console.print(report.samples(outcomes, test), report.table(outcomes, args.batch), sep="\n")
    for line in report.boards(outcomes):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    for name, reason in missing.items():
        console.print(f"no row {name}: {reason}", markup=False, highlight=False, soft_wrap=True)
    mistakes = report.mistakes(outcomes)
    for mistake in mistakes:
        errors.print(f"error: {mistake}", markup=False, highlight=False)
    return 1 if mistakes else 0


def run_all(
    models: Sequence[DemoModel],
    targets: Sequence[DemoTarget],
    digits: data.Digits,
    batch: int,
    console: Console,
) -> list[Outcome]:
    """Run every model on every target in turn, each with a progress bar."""
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    with Progress(*columns, TimeElapsedColumn(), console=console) as bars:

        def run_one(model: DemoModel, target: DemoTarget) -> Outcome:
            bar = bars.add_task(f"{model.name} on {target.label}", total=None)

            def advance(what: str, done: int, total: int) -> None:
                # Without a total the bar pulses: the duration of compilation is unknown.
                bars.update(bar, description=what, completed=done, total=total if done else None)

            return run(model, target, digits, batch, advance)

        return [run_one(model, target) for model in models for target in targets]


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """The parsed command line."""
    parser = argparse.ArgumentParser(
        prog="python -m examples.digits.demo", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--batch", type=positive, default=50, help="images per call (50)")
    parser.add_argument(
        "--models", nargs="+", default=list(MODELS), metavar="MODEL", help=", ".join(MODELS)
    )
    parser.add_argument(
        "--targets",
        nargs="+",
        metavar="TARGET",
        help=f"{', '.join(TARGETS)} (default: available ones)",
    )
    return parser.parse_args(argv)


def positive(text: str) -> int:
    """Parse a positive integer."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return value


def chosen(known: Mapping[str, T], names: Sequence[str]) -> list[T]:
    """The rows with these names, without duplicates. Raises UserError for an unknown name."""
    for name in names:
        if name not in known:
            raise UserError(f"the demo has no '{name}'", hints=did_you_mean(name, known))
    return [known[name] for name in dict.fromkeys(names)]


if __name__ == "__main__":
    sys.exit(main())

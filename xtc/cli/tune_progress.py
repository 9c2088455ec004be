# SPDX-License-Identifier: Apache-2.0
"""The progress of a search on standard error: a bar on a terminal, else a line per new best."""

from __future__ import annotations

import sys
import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from xtc.cli.tune_report import time_text
from xtc.search.network import Found
from xtc.search.tuner import Progress as Search


class TuneProgress:
    """Shows the progress passed to `report`; a context manager."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._best: float | None = None
        self._start = time.monotonic()
        console = Console(stderr=True)
        self._bar: Progress | None = None
        if not quiet and console.is_terminal:
            self._bar = Progress(
                BarColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.description}"),
                console=console,
                transient=True,
            )
            self._task = self._bar.add_task("starting", total=None)

    def report(self, search: Search) -> None:
        """Show the progress of the search."""
        elapsed = time.monotonic() - self._start
        if self._bar is not None:
            self._bar.update(
                self._task, completed=elapsed, total=search.budget, description=_text(search)
            )
            return
        best = search.best.seconds if search.best else None
        if not self._quiet and best is not None and (self._best is None or best < self._best):
            self._best = best
            sys.stderr.write(f"{elapsed:7.1f} s  {_text(search)}\n")

    def done(self, found: Found) -> None:
        """Show the result for a kind of operator; the next search begins."""
        self._best = None
        if self._quiet:
            return
        count = f" and {len(found.kind.nodes) - 1} like it" if len(found.kind.nodes) > 1 else ""
        times = " -> ".join(time_text(s) if s else "none" for s in (found.default, found.best))
        line = f"{found.kind.name}{count}: {times}"
        if self._bar is not None:
            self._bar.console.print(line)
        else:
            sys.stderr.write(f"{line}\n")

    def __enter__(self) -> TuneProgress:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()


def _text(search: Search) -> str:
    tried = sum(search.statuses.values())
    parts = [f"{tried} tried", f"{search.failures} failed"]
    if search.best is not None and search.best.seconds is not None:
        best = search.best.seconds
        gain = ""
        if search.default is not None and search.default.seconds is not None:
            gain = f" ({search.default.seconds / best:.2f} x default)"
        parts.insert(0, f"best {time_text(best)}{gain}")
    return ", ".join(parts)

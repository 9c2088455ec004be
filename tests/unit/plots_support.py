# SPDX-License-Identifier: Apache-2.0
"""Databases and runs for the tests of plots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tests.unit.search_support import a_run
from xtc.search import Result, Run, Store
from xtc.search.plots import Measured


def a_product() -> Run:
    """A run of 1 GFLOP a call, so that a call of 10 ms has 100 GFLOP/s; its peak is 200."""
    return replace(
        a_run(), flops=10**9, nbytes=10**8, peak=2e11, bandwidth=5e9, seconds=9.0, number=1
    )


def right(seconds: float, at: float = 1.0, schedule: str = "C: [i]", **parameters: int) -> Result:
    """A correct result whose second sample is slower."""
    samples = (seconds, 2 * seconds)
    return Result(schedule, parameters, "ok", samples=samples, compile_seconds=0.1, at=at)


def failed(status: str = "crashed", at: float = 1.0, **parameters: int) -> Result:
    """A failed result."""
    return Result("C: [j]", parameters, status, "it fell over", at=at)


def measured(*results: Result, run: Run | None = None) -> Measured:
    """A run with these results."""
    return Measured(run or a_product(), results)


def database(path: Path, *runs: tuple[Run, Sequence[Result]]) -> Path:
    """A database with these runs, numbered from 1."""
    with Store(path) as store:
        for run, results in runs:
            number = store.add_run(run).number
            for result in results:
                store.add_result(number, result)
    return path

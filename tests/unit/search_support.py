# SPDX-License-Identifier: Apache-2.0
"""Runs and results for the tests of the search."""

from __future__ import annotations

import random

from xtc.search import Result, Run


def a_run() -> Run:
    """A run with made-up values."""
    return Run(
        graph="0" * 64,
        name="product",
        text="graph product() {}",
        target="host",
        options="",
        machine="none",
        versions={"xtc": "0"},
        strategy="tile3d",
        space="{}",
        sampler="random",
        seed=1,
        budget=60.0,
        flops=1000,
        nbytes=4000,
        dtype="float32",
        peak=1e11,
        bandwidth=1e10,
        started="2026-01-01T00:00:00+00:00",
    )


def ok(schedule: str, *samples: float) -> Result:
    """A correct result."""
    return Result(schedule, {"iR": 4}, "ok", samples=samples, compile_seconds=0.01, at=1.5)


def wrong(schedule: str) -> Result:
    """A wrong result."""
    return Result(schedule, {"iR": 5}, "wrong", "'C' is wrong: 1 of 1 elements differ", at=2.5)


def seeded(seed: int) -> random.Random:
    """Random numbers with a fixed seed."""
    return random.Random(seed)  # noqa: S311  reproducible, not secret

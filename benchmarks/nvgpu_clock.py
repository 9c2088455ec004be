# SPDX-License-Identifier: Apache-2.0
"""Comparisons by the GPU's clock: calls take turns, each with a cold L2 cache."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.harness import Report, machine_facts, print_table, save
from xtc.evaluate.timing import Timing
from xtc.tile.config import stream_in_use
from xtc.tile.timing import StreamClock
from xtc_targets.nvgpu import NvgpuDevice

ROUNDS, WARMUP = 20, 3


def compare(device: NvgpuDevice, name: str, runs: Mapping[str, Callable[[], Any]]) -> Report:
    """Measure, print and save one comparison; the first call is the baseline."""
    for run in runs.values():
        for _ in range(WARMUP):
            run()
    with StreamClock(device, stream_in_use(device)) as clock:
        samples = clock.steady_samples(list(runs.values()), ROUNDS)
    timings = {each: Timing(tuple(s), 1) for each, s in zip(runs, samples, strict=True)}
    rounds = len(samples[0])
    facts = {**machine_facts(), "gpu": device.device_chip, "clock": "the GPU's events"}
    report = Report(name, next(iter(runs)), timings, rounds, ROUNDS, facts)
    print_table(report)
    save(report, Path(f"out/bench-{name.replace(' ', '-')}.json"))
    return report

# SPDX-License-Identifier: Apache-2.0
"""Measures one workload: every candidate in every round, in a shuffled order."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.candidate import Candidate, Unavailable
from benchmarks.peers.graphs import Reference, sample_inputs
from benchmarks.peers.quiet import wait_for_quiet
from benchmarks.peers.results import Rates, Row
from benchmarks.peers.workloads import Workload
from xtc.evaluate.timing import Timing


@dataclass(frozen=True)
class Settings:
    """The settings of a measurement.

    Attributes:
        rounds: number of visits of each candidate.
        repeat: samples per visit.
        min_ms: least duration of a sample.
        longest_visit: time limit of the samples of a visit, in seconds.
        build_seconds: time limit of the preparation.
        quiet_seconds: longest wait of a visit until nothing else runs.
        seed: seed of the order and of the inputs.
    """

    rounds: int = 7
    repeat: int = 3
    min_ms: float = 10.0
    longest_visit: float = 0.3
    build_seconds: float = 60.0
    quiet_seconds: float = 0.1
    seed: int = 0


@dataclass(frozen=True)
class Yardstick:
    """A measurement of the machine itself, in the same rounds as the candidates.

    Attributes:
        candidate: its worker.
        request: its workload.
        work: GFLOP or GB per call.
    """

    candidate: Candidate
    request: Mapping[str, Any]
    work: float


@dataclass
class _Ready:
    """A candidate with a prepared workload, and its samples so far, in seconds per call."""

    candidate: Candidate
    number: int
    repeat: int
    samples: list[float]

    @property
    def timing(self) -> Timing:
        return Timing(tuple(self.samples), self.number)


class Inputs:
    """The arrays of a workload as files, and the expected result."""

    def __init__(self, workload: Workload, folder: Path, seed: int) -> None:
        self.request = workload.as_dict()
        self.folder = folder
        arrays = sample_inputs(self.request, seed)
        self.paths = [str(folder / f"input-{position}.npy") for position in range(len(arrays))]
        for path, array in zip(self.paths, arrays, strict=True):
            np.save(path, array)
        self.reference = Reference(self.request, arrays)


def measure(
    workload: Workload,
    inputs: Inputs,
    candidates: Sequence[Candidate],
    yardsticks: Mapping[str, Yardstick],
    settings: Settings,
    deadline: float,
    end: float,
) -> Row:
    """Measure one row, on the threads of the candidates.

    `yardsticks` has "fma", and "traffic" for memory-bound workloads. After `deadline`, in seconds
    of time.monotonic(), only a first round is started; after `end` nothing is prepared.
    """
    row = Row(workload, candidates[0].threads)
    runners: dict[str, _Ready] = {}
    for name, yardstick in yardsticks.items():
        with _noting(row, name):
            runners[name] = _built(yardstick.candidate, yardstick.request, settings)[0]
    for candidate in candidates:
        with _noting(row, candidate.library.name):
            runners[candidate.library.name] = _prepared(row, candidate, inputs, settings, end)
    _visit_all(row, runners, settings, deadline)
    row.timings = {
        name: runner.timing for name, runner in runners.items() if name not in yardsticks
    }
    for name, yardstick in yardsticks.items():
        if name in runners:
            setattr(row, name, Rates.of(yardstick.work, runners[name].timing))
    for runner in runners.values():
        runner.candidate.drop()
    return row


def _prepared(
    row: Row, candidate: Candidate, inputs: Inputs, settings: Settings, end: float
) -> _Ready:
    """Prepare a candidate with the workload, and compare its result with NumPy's."""
    name = candidate.library.name
    if time.monotonic() > end:
        raise Unavailable("no time was left for it")
    output = inputs.folder / f"output-{name}.npy"
    files = {"inputs": inputs.paths, "output": str(output)}
    ready, row.build_seconds[name] = _built(candidate, inputs.request, settings, files)
    try:
        compared = inputs.reference.compare(np.load(output), name)
    finally:
        output.unlink()
    if not compared.ok:
        row.wrong[name] = str(compared).removeprefix(f"{name}: ")
    return ready


def _built(
    candidate: Candidate,
    workload: Mapping[str, Any],
    settings: Settings,
    files: Mapping[str, Any] | None = None,
) -> tuple[_Ready, float]:
    """Let a candidate prepare the workload; returns the time too."""
    request = {"do": "build", "workload": workload, "min_ms": settings.min_ms}
    request.update(files or {"inputs": [], "output": None})
    answer = candidate.ask(request, settings.build_seconds)
    sample = answer["number"] * answer["call_seconds"]
    repeat = max(1, min(settings.repeat, int(settings.longest_visit / max(sample, 1e-9))))
    return _Ready(candidate, answer["number"], repeat, []), answer["build_seconds"]


def _visit_all(row: Row, runners: dict[str, _Ready], settings: Settings, deadline: float) -> None:
    """Take the samples; candidates that fail are noted and removed."""
    rng = np.random.default_rng(settings.seed)
    moments: list[bool] = []
    for turn in range(settings.rounds):
        if turn and time.monotonic() > deadline:
            break
        for name in [list(runners)[position] for position in rng.permutation(len(runners))]:
            quiet = wait_for_quiet(settings.quiet_seconds)
            moments += [] if quiet is None else [quiet]
            with _noting(row, name):
                _visit(runners[name], settings)
            if name in row.absent:
                del runners[name]
    row.quiet = (sum(moments), len(moments))


def _visit(runner: _Ready, settings: Settings) -> None:
    request = {"do": "run", "number": runner.number, "repeat": runner.repeat}
    runner.samples.extend(runner.candidate.ask(request, settings.build_seconds)["samples"])


@contextmanager
def _noting(row: Row, name: str) -> Iterator[None]:
    """Note in the row why a candidate does not take part."""
    try:
        yield
    except Unavailable as why:
        row.absent[name] = str(why)

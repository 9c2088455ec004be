# SPDX-License-Identifier: Apache-2.0
"""The measurements, and figures from them: rates, and ratios to the best library and machine."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.peers.libraries import LIBRARIES, OURS
from benchmarks.peers.workloads import Workload
from xtc.evaluate.timing import Timing

OUR_NAMES = frozenset(library.name for library in LIBRARIES if library.is_ours)


@dataclass(frozen=True)
class Rates:
    """Work per second of one candidate: median, range of most samples, best."""

    median: float
    p10: float
    p90: float
    best: float

    @staticmethod
    def of(work: float, timing: Timing) -> Rates:
        """The rates of samples; slow samples are low rates."""
        return Rates(work / timing.median, work / timing.p90, work / timing.p10, work / timing.best)


@dataclass
class Row:
    """The measurements of one workload on a number of threads.

    Attributes:
        workload: the workload.
        threads: the number of threads.
        timings: seconds per call of every candidate that ran, by name.
        build_seconds: time of preparation and of the first call.
        absent: by candidate, the reason why it did not run.
        wrong: by candidate, a description of its wrong result.
        fma: GFLOP/s of multiply-adds on the same number of threads in the same rounds.
        traffic: GB/s of the same amount of memory in the same rounds, for memory-bound workloads.
        quiet: number of visits at whose start nothing else ran, and number of visits with this
            information.
    """

    workload: Workload
    threads: int
    timings: dict[str, Timing] = field(default_factory=dict)
    build_seconds: dict[str, float] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    wrong: dict[str, str] = field(default_factory=dict)
    fma: Rates | None = None
    traffic: Rates | None = None
    quiet: tuple[int, int] = (0, 0)

    def rates(self, name: str) -> Rates | None:
        """The rates in the workload's unit; None if the candidate did not run."""
        timing = self.timings.get(name)
        return Rates.of(self.workload.work, timing) if timing else None

    @property
    def is_disturbed(self) -> bool:
        """Whether other programs ran at the start of most visits: medians are then unreliable."""
        quiet, visits = self.quiet
        return 2 * quiet < visits

    @property
    def names(self) -> list[str]:
        """The candidates that ran, fastest median first."""
        return sorted(self.timings, key=lambda name: self.timings[name].median)

    def best_peer(self, kind: str = "median") -> tuple[str, float] | None:
        """The fastest other library with a right result, and its rate."""
        peers = [
            (name, getattr(rates, kind))
            for name in self.timings
            if name not in OUR_NAMES and name not in self.wrong
            if (rates := self.rates(name))
        ]
        return max(peers, key=lambda peer: peer[1], default=None)

    def ratio(self, name: str = OURS.name, kind: str = "median") -> float | None:
        """Its rate over that of the best library; None if one of them did not run."""
        rates, peer = self.rates(name), self.best_peer(kind)
        if rates is None or peer is None or name in self.wrong:
            return None
        return float(getattr(rates, kind) / peer[1])

    def fraction(self, name: str = OURS.name, kind: str = "median") -> float | None:
        """Its rate over that of the machine in the same run: multiply-adds, or memory traffic."""
        rates, machine = self.rates(name), self.machine
        if rates is None or machine is None or name in self.wrong:
            return None
        return float(getattr(rates, kind) / getattr(machine, kind))

    @property
    def machine(self) -> Rates | None:
        """The machine's rate to compare with."""
        return self.fma if self.workload.bound == "compute" else self.traffic

    def as_dict(self) -> dict[str, Any]:
        """JSON types; samples in seconds per call."""
        return {
            "workload": self.workload.as_dict(),
            "threads": self.threads,
            "unit": self.workload.unit,
            "candidates": {name: self._candidate(name) for name in self.names},
            "absent": dict(self.absent),
            "wrong": dict(self.wrong),
            "fma_gflops": _as_dict(self.fma),
            "traffic_gbytes": _as_dict(self.traffic),
            "quiet": list(self.quiet),
        }

    def _candidate(self, name: str) -> dict[str, Any]:
        timing = self.timings[name]
        return {
            **(_as_dict(self.rates(name)) or {}),
            "ratio": self.ratio(name),
            "ratio_of_best": self.ratio(name, "best"),
            "fraction": self.fraction(name),
            "fraction_of_best": self.fraction(name, "best"),
            "build_seconds": self.build_seconds.get(name),
            "number": timing.number,
            "samples": list(timing.samples),
        }


def geometric_mean(values: Iterable[float]) -> float | None:
    """The geometric mean; None without values."""
    logarithms = [math.log(value) for value in values]
    return math.exp(math.fsum(logarithms) / len(logarithms)) if logarithms else None


def _as_dict(rates: Rates | None) -> Mapping[str, float] | None:
    if rates is None:
        return None
    return {"median": rates.median, "p10": rates.p10, "p90": rates.p90, "best": rates.best}

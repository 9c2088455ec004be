# SPDX-License-Identifier: Apache-2.0
"""The records of a search: the run, and one result for each candidate."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field

STATUSES = ("ok", "wrong", "refused", "failed", "crashed", "timeout")
"""Outcomes of a candidate. ok: correct and measured; wrong: differs from NumPy; refused: not a
schedule of this graph; failed: a compiler error; crashed: compiler or code ended its process or
exceeded its memory limit; timeout: it exceeded its time limit."""


MODELLED = "modelled"
"""The kind of results with modelled seconds, which only rank candidates."""


@dataclass(frozen=True)
class Run:
    """One search.

    Attributes:
        graph: hash of the graph, see `xtc.driver.tuned`.
        name: the graph's name.
        text: the graph, printed.
        target: name of the target.
        options: its non-default options, as `name=value` words.
        machine: processor, cores and system.
        versions: versions of this project and of its code generators.
        strategy: the strategy's name.
        space: the strategy as YAML, for `xtc-tune --strategy FILE`.
        sampler: the sampler's name.
        seed: the sampler's seed.
        budget: the time limit in seconds; None if only the number of candidates was limited.
        flops: floating-point operations of one call; 0 if there are none.
        nbytes: bytes of all arguments.
        dtype: element type of the first argument.
        peak: FMA peak in FLOP/s, measured in the same run; None if unknown.
        bandwidth: memory read bandwidth in bytes per second, measured likewise.
        started: its start, in UTC, ISO 8601.
        seconds: its duration so far, over all resumptions.
        finished: whether it completed.
        number: its number in the database; 0 before it is stored.
    """

    graph: str
    name: str
    text: str
    target: str
    options: str
    machine: str
    versions: Mapping[str, str]
    strategy: str
    space: str
    sampler: str
    seed: int
    budget: float | None
    flops: int
    nbytes: int
    dtype: str
    peak: float | None
    bandwidth: float | None
    started: str
    seconds: float = 0.0
    finished: bool = False
    number: int = 0


@dataclass(frozen=True)
class Result:
    """The result of a candidate.

    Attributes:
        schedule: its schedule as text for `xtc.Schedule.of`; "" is the default schedule.
        parameters: values of the strategy's parameters; none for the default schedule.
        status: one of STATUSES.
        message: the error message, or "".
        samples: seconds per call, one for each repeat; empty unless ok.
        compile_seconds: wall time of the compilation.
        at: the time of the result in the run, in seconds.
        worker: the worker that measured it; "" for this process.
        kind: "search", "replay" for a repeated measurement, or MODELLED.
        number: its position in the run, from 0; repeated measurements have separate ones.
    """

    schedule: str
    parameters: Mapping[str, int]
    status: str
    message: str = ""
    samples: tuple[float, ...] = field(default=())
    compile_seconds: float = 0.0
    at: float = 0.0
    worker: str = ""
    kind: str = "search"
    number: int = 0

    @property
    def seconds(self) -> float | None:
        """The best sample, since noise only adds time. None unless ok."""
        return min(self.samples) if self.samples and self.status == "ok" else None

    @property
    def median(self) -> float | None:
        """The median sample; None unless ok."""
        return statistics.median(self.samples) if self.samples and self.status == "ok" else None

# SPDX-License-Identifier: Apache-2.0
"""What is kept of a search: the run, and one result for each candidate."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field

STATUSES = ("ok", "wrong", "refused", "failed", "crashed", "timeout")
"""How a candidate ended. ok: right and measured; wrong: not what NumPy says; refused: not a
schedule of this graph; failed: the compiler gave an error; crashed: compiler or code ended its
process, or used up its memory; timeout: so did the clock."""


MODELLED = "modelled"
"""The kind of results whose seconds a static model says: they order candidates, no more."""


@dataclass(frozen=True)
class Run:
    """One search.

    Attributes:
        graph: hash of the graph, see `xtc.driver.tuned`.
        name: the graph's name.
        text: the graph, printed.
        target: name of the target.
        options: its options that are not the defaults, `name=value` words.
        machine: processor, cores and system.
        versions: of this project and of what generates the code.
        strategy: its name.
        space: the strategy as YAML: what `xtc-tune --strategy FILE` reads.
        sampler: its name.
        seed: of the sampler.
        budget: seconds asked for; None if the number of candidates alone was limited.
        flops: floating-point operations of one call, 0 if there are none.
        nbytes: bytes of all arguments.
        dtype: element type of the first argument.
        peak: FMA peak in FLOP/s, measured in the same run; None if it is unknown.
        bandwidth: rate of reading memory in bytes per second, measured likewise.
        started: when, UTC, ISO 8601.
        seconds: how long it ran so far, over all resumptions, in seconds.
        finished: whether it came to its own end.
        number: in the database; 0 before it is there.
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
    """What became of one candidate.

    Attributes:
        schedule: its text as `xtc.Schedule.of` takes it; "" is the default schedule.
        parameters: values of the strategy's parameters; none for the default schedule.
        status: one of STATUSES.
        message: what went wrong, "" where nothing did.
        samples: seconds per call, one for each repeat; empty unless ok.
        compile_seconds: wall time of the compilation.
        at: seconds of the run when the result was there.
        worker: what measured it, "" for this process.
        kind: "search", "replay" for one of the best that was measured again, or MODELLED.
        number: its position in the run, from 0; the same candidate measured again has another.
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
        """The best sample: noise only ever adds time. None unless ok."""
        return min(self.samples) if self.samples and self.status == "ok" else None

    @property
    def median(self) -> float | None:
        """The median sample; None unless ok."""
        return statistics.median(self.samples) if self.samples and self.status == "ok" else None

# SPDX-License-Identifier: Apache-2.0
"""Where the time of a call goes: by operator, as a table and as a timeline."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xtc.core.errors import UserError
from xtc.evaluate.units import seconds_text


@dataclass(frozen=True)
class OperatorTime:
    """One operator as it runs, with what is fused into it.

    Attributes:
        name: the graph node whose result it computes.
        computes: the operators of the graph that it computes, in order.
        kernels: the functions that run, the same ones for equal operators.
        seconds: of one call, the median.
        flops: arithmetic operations.
        nbytes: of the arrays that it reads and writes; what it keeps between them is not counted.
        schedule: the loop nests that were chosen for it, a line of text each.
    """

    name: str
    computes: tuple[str, ...]
    kernels: tuple[str, ...]
    seconds: float
    flops: int
    nbytes: int
    schedule: tuple[str, ...] = ()

    @property
    def flop_rate(self) -> float:
        """FLOP/s."""
        return self.flops / self.seconds if self.seconds else 0.0

    @property
    def byte_rate(self) -> float:
        """Bytes per second."""
        return self.nbytes / self.seconds if self.seconds else 0.0

    @property
    def intensity(self) -> float:
        """FLOP per byte: where the operator stands in a roofline (Williams et al., 2009)."""
        return self.flops / self.nbytes if self.nbytes else 0.0


@dataclass(frozen=True)
class Span:
    """A kernel of the median call: nanoseconds since the first one started."""

    name: str
    kernel: str
    begin: int
    end: int


@dataclass(frozen=True)
class Profile:
    """Where the time of a call goes.

    Attributes:
        program: the compiled function.
        operators: in the order in which they run first.
        spans: the kernels of one call, the median one.
        seconds: of a call of the recorded program, from outside; the median.
        plain_seconds: of a call of the program that records nothing, measured in between.
        repeat: how many calls of each.
        threads: that parallel loops use.
        peak_flops: measured, FLOP/s of these threads; 0 where not known.
        bandwidth: measured, bytes per second that they read; 0 where not known.
    """

    program: str
    operators: tuple[OperatorTime, ...]
    spans: tuple[Span, ...]
    seconds: float
    plain_seconds: float
    repeat: int
    threads: int = 1
    peak_flops: float = 0.0
    bandwidth: float = 0.0

    @property
    def operator_seconds(self) -> float:
        """The operators' times in all."""
        return sum(operator.seconds for operator in self.operators)

    @property
    def overhead(self) -> float:
        """The part by which recording makes a call longer; below 0 where noise hides it."""
        return self.seconds / self.plain_seconds - 1 if self.plain_seconds else 0.0

    def slowest(self, count: int = 3) -> list[OperatorTime]:
        """The operators that take most of the time, the slowest first."""
        return sorted(self.operators, key=lambda operator: -operator.seconds)[:count]

    def roofline(self, operator: OperatorTime) -> float:
        """Its least time by peak and bandwidth, over its time: 1 is as fast as the machine allows.

        Arrays that an earlier operator left in a cache are read faster than main memory is, so it
        may be above 1. It is 0 where peaks are not known.
        """
        if not operator.seconds or not self.peak_flops or not self.bandwidth:
            return 0.0
        least = max(operator.flops / self.peak_flops, operator.nbytes / self.bandwidth)
        return least / operator.seconds

    def table(self, limit: int | None = None) -> str:
        """The operators, the slowest first, and what they sum up to; `limit` is how many."""
        return "\n".join([*self._head(), *self._rows(limit), *self._foot()]) + "\n"

    def timeline(self) -> dict[str, Any]:
        """One call in the trace event format that Perfetto and chrome://tracing read."""
        about = {operator.name: operator for operator in self.operators}
        events: list[dict[str, Any]] = [
            {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": self.program}},
            {"ph": "M", "pid": 1, "tid": 1, "name": "thread_name", "args": {"name": "caller"}},
        ]
        for span in self.spans:
            operator = about[span.name]
            arguments = {
                "kernel": span.kernel,
                "computes": " ".join(operator.computes),
                "FLOP": operator.flops,
                "bytes": operator.nbytes,
                "schedule": "; ".join(operator.schedule),
            }
            event = {"ph": "X", "pid": 1, "tid": 1, "ts": span.begin / 1e3}
            length = {"dur": (span.end - span.begin) / 1e3, "cat": operator.computes[-1]}
            events.append({"name": span.name, **event, **length, "args": arguments})
        return {"traceEvents": events, "displayTimeUnit": "ns"}

    def save_timeline(self, path: str | Path) -> None:
        """Write the timeline as JSON. Raises UserError where that cannot be written."""
        try:
            Path(path).write_text(json.dumps(self.timeline()))
        except OSError as error:
            raise UserError(f"cannot write the timeline {path}: {error.strerror}") from None

    def __str__(self) -> str:
        return self.table()

    def _head(self) -> Iterator[str]:
        threads = "1 thread" if self.threads == 1 else f"{self.threads} threads"
        yield (
            f"profile of {self.program}: {seconds_text(self.seconds)} a call, "
            f"median of {self.repeat}, {threads}"
        )
        if self.peak_flops and self.bandwidth:
            yield (
                f"measured here: peak {self.peak_flops / 1e9:.1f} GFLOP/s, "
                f"reading {self.bandwidth / 1e9:.1f} GB/s"
            )
        yield _line("operator", "time", "share", "GFLOP/s", "GB/s", "roofline", "computes")

    def _rows(self, limit: int | None) -> Iterator[str]:
        shown = self.slowest(len(self.operators) if limit is None else limit)
        for operator in shown:
            bound = self.roofline(operator)
            yield _line(
                operator.name,
                seconds_text(operator.seconds),
                _percent(operator.seconds, self.operator_seconds),
                f"{operator.flop_rate / 1e9:.1f}",
                f"{operator.byte_rate / 1e9:.1f}",
                f"{bound:.0%}" if bound else "-",
                "+".join(operator.computes),
            )
        left = len(self.operators) - len(shown)
        if left:
            rest = self.operator_seconds - sum(operator.seconds for operator in shown)
            share = _percent(rest, self.operator_seconds)
            yield _line(f"{left} others", seconds_text(rest), share, "", "", "", "")

    def _foot(self) -> Iterator[str]:
        flops = sum(operator.flops for operator in self.operators)
        total = self.operator_seconds
        rate = f"{flops / total / 1e9:.1f}" if total else ""
        yield _line("in all", seconds_text(total), "100.0%", rate, "", "", "")
        yield f"operators are {_percent(total, self.seconds)} of a call; recording costs " + (
            f"{self.overhead:.1%}"
        )


def _percent(part: float, whole: float) -> str:
    return f"{part / whole:.1%}" if whole else "-"


def _line(name: str, *cells: str) -> str:
    *numbers, computes = cells
    return "  ".join([f"{name:<20}", *(f"{cell:>9}" for cell in numbers), computes]).rstrip()


def spans_of(kernels: Sequence[tuple[str, str]], stamps: Sequence[int]) -> tuple[Span, ...]:
    """The spans between times of one call: each kernel ends where the next one begins."""
    start = stamps[0]
    ends = zip(kernels, stamps, stamps[1:], strict=False)
    return tuple(Span(node, kernel, t0 - start, t1 - start) for (node, kernel), t0, t1 in ends)

# SPDX-License-Identifier: Apache-2.0
"""Profiles of calls by operator, as a table and as a timeline."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from xtc.core.errors import UserError
from xtc.evaluate.profile_table import profile_table
from xtc.evaluate.timeline import timeline
from xtc.evaluate.timeline_picture import timeline_picture
from xtc.interfaces.runtime import Piece, RecordedKernel

CALLER = "caller"
"""The row of the calling thread in a timeline."""


@dataclass(frozen=True)
class OperatorTime:
    """One operator with the nodes fused into it.

    Attributes:
        name: the graph node whose result it computes.
        computes: the operators of the graph that it computes, in order.
        kernels: the functions that run; equal operators share them.
        seconds: the median time in one call.
        flops: arithmetic operations of the graph.
        nbytes: the size of the arrays that it reads and writes, without intermediate values.
        schedule: its loop nests, a line of text each.
        executed: floating-point operations that its code executes, which may differ from `flops`;
            None if unknown.
        origins: names of its operators in a model's file, if any.
        nodes: names of the graph's nodes that it computes, in order.
    """

    name: str
    computes: tuple[str, ...]
    kernels: tuple[str, ...]
    seconds: float
    flops: int
    nbytes: int
    schedule: tuple[str, ...] = ()
    executed: int | None = None
    origins: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()

    @property
    def work(self) -> int:
        """The operations to compare with a peak: those executed, or those of the graph."""
        return self.flops if self.executed is None else self.executed

    @property
    def flop_rate(self) -> float:
        """FLOP/s of the graph's operations."""
        return self.flops / self.seconds if self.seconds else 0.0

    @property
    def byte_rate(self) -> float:
        """Bytes per second."""
        return self.nbytes / self.seconds if self.seconds else 0.0

    @property
    def intensity(self) -> float:
        """FLOP per byte: the arithmetic intensity in a roofline model (Williams et al., 2009)."""
        return self.work / self.nbytes if self.nbytes else 0.0

    def of_peak(self, peak_flops: float) -> float:
        """The achieved fraction of the peak; 0 if unknown."""
        return self.work / self.seconds / peak_flops if self.seconds and peak_flops else 0.0

    def roofline(self, peak_flops: float, bandwidth: float) -> float:
        """Its minimal time by peak and bandwidth over its time; 0 if these are unknown."""
        if not self.seconds or not peak_flops or not bandwidth:
            return 0.0
        return max(self.work / peak_flops, self.nbytes / bandwidth) / self.seconds


@dataclass(frozen=True)
class Span:
    """An interval of the median call, in nanoseconds since its first kernel or command.

    Attributes:
        name: the operator's name, or the direction of a copy.
        kernel: the function that ran; "" for copies.
        row: the calling thread, a thread of the pool, or a device's name.
    """

    name: str
    kernel: str
    begin: int
    end: int
    row: str = CALLER


@dataclass(frozen=True)
class Copies:
    """The copies of a call in one direction: "copy to", "copy from" or "copy within" a device.

    Attributes:
        seconds: their median total time in one call; 0 if the device's model has no times.
    """

    kind: str
    count: int
    nbytes: int
    seconds: float


@dataclass(frozen=True)
class DeviceProfile:
    """The profile of a device in a call, with each command run alone.

    Attributes:
        name: the device's name.
        operators: its operators in the order of their first run.
        copies: its copies by direction.
        is_modelled: whether times come from a simulator's model.
        peak_flops: its peak in FLOP/s; 0 if unknown.
        bandwidth: its memory bandwidth in bytes per second; 0 if unknown.
    """

    name: str
    operators: tuple[OperatorTime, ...]
    copies: tuple[Copies, ...]
    is_modelled: bool
    peak_flops: float = 0.0
    bandwidth: float = 0.0

    @property
    def operator_seconds(self) -> float:
        """The operators' total time."""
        return sum(operator.seconds for operator in self.operators)


@dataclass(frozen=True)
class Profile:
    """The profile of a call.

    Attributes:
        program: the compiled function.
        operators: the host's operators in the order of their first run.
        spans: the intervals of the median call, on all threads and devices.
        seconds: the duration of a call of the instrumented program.
        plain_seconds: the duration of a call of the original program, measured in between.
        repeat: the number of calls of each.
        threads: the number of threads of parallel loops.
        peak_flops: the host's measured peak in FLOP/s with these threads; 0 if unknown.
        bandwidth: the host's measured read bandwidth in bytes per second; 0 if unknown.
        devices: the profiles of the program's devices.
        overhead: the relative overhead of recording.
        overhead_error: the noise of the overhead.
        vector_bits: the vector width of the code in bits; 0 if unknown.
        peaks: the host's peaks by vector width; `peak_flops` is the highest.
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
    devices: tuple[DeviceProfile, ...] = ()
    overhead: float = 0.0
    overhead_error: float = 0.0
    vector_bits: int = 0
    peaks: Mapping[int, float] = field(default_factory=dict)

    @property
    def operator_seconds(self) -> float:
        """The operators' total time on the host."""
        return sum(operator.seconds for operator in self.operators)

    def slowest(self, count: int = 3) -> list[OperatorTime]:
        """The operators with the longest times on the host, the slowest first."""
        return sorted(self.operators, key=lambda operator: -operator.seconds)[:count]

    def roofline(self, operator: OperatorTime) -> float:
        """Its minimal time by peak and bandwidth over its time: 1 is the host's limit.

        It may be above 1 if operands are still in a cache. It is 0 if the peaks are unknown.
        """
        return operator.roofline(self.peak_flops, self.bandwidth)

    def table(self, limit: int | None = None) -> str:
        """The operators, the slowest first, with totals; `limit` is the largest number of rows."""
        return profile_table(self, limit)

    def timeline(self) -> dict[str, Any]:
        """One call in the trace event format of Perfetto and chrome://tracing."""
        return timeline(self)

    def save_timeline(self, path: str | Path) -> None:
        """Write the timeline as JSON for Perfetto, or as a picture if the file name ends in `.svg`.

        Raises UserError if the file cannot be written.
        """
        is_picture = Path(path).suffix == ".svg"
        try:
            Path(path).write_text(
                timeline_picture(self) if is_picture else json.dumps(self.timeline())
            )
        except OSError as error:
            raise UserError(f"cannot write the timeline {path}: {error.strerror}") from None

    def __str__(self) -> str:
        return self.table()


def spans_of(
    kernels: Sequence[RecordedKernel], stamps: Sequence[int], pieces: Sequence[Piece] = ()
) -> tuple[Span, ...]:
    """The spans from the time stamps of one call: each kernel ends where the next one begins.

    `pieces` are the parts of parallel loops; the caller's are within its own spans.
    """
    start = stamps[0]
    ends = zip(kernels, stamps, stamps[1:], strict=False)
    spans = [Span(call.node, call.function, t0 - start, t1 - start) for call, t0, t1 in ends]
    starts = [span.begin for span in spans]
    for piece in sorted(pieces):
        if piece.thread and piece.begin >= start:
            around = spans[bisect_right(starts, piece.begin - start) - 1]
            row = f"thread {piece.thread}"
            times = (piece.begin - start, piece.end - start)
            spans.append(Span(around.name, around.kernel, *times, row))
    return tuple(spans)

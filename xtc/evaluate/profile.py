# SPDX-License-Identifier: Apache-2.0
"""Where the time of a call goes: by operator, as a table and as a timeline."""

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
    """One operator as it runs, with what is fused into it.

    Attributes:
        name: the graph node whose result it computes.
        computes: the operators of the graph that it computes, in order.
        kernels: the functions that run, the same ones for equal operators.
        seconds: of one call, the median.
        flops: arithmetic operations, as the graph has them.
        nbytes: of the arrays that it reads and writes; what it keeps between them is not counted.
        schedule: the loop nests that were chosen for it, a line of text each.
        executed: floating-point operations that its code executes, fewer or more than `flops`; None
            if these are unknown.
        origins: the names of the operators that a model's file has for it, where it has any.
        nodes: of the graph that it computes, by name, in order.
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
        """The operations that are held against a peak: those executed, or those of the graph."""
        return self.flops if self.executed is None else self.executed

    @property
    def flop_rate(self) -> float:
        """FLOP/s, of the graph's operations."""
        return self.flops / self.seconds if self.seconds else 0.0

    @property
    def byte_rate(self) -> float:
        """Bytes per second."""
        return self.nbytes / self.seconds if self.seconds else 0.0

    @property
    def intensity(self) -> float:
        """FLOP per byte: where the operator stands in a roofline (Williams et al., 2009)."""
        return self.work / self.nbytes if self.nbytes else 0.0

    def of_peak(self, peak_flops: float) -> float:
        """The part of the peak that it computes at; 0 if that is unknown."""
        return self.work / self.seconds / peak_flops if self.seconds and peak_flops else 0.0

    def roofline(self, peak_flops: float, bandwidth: float) -> float:
        """Its least time by peak and bandwidth, over its time; 0 if these are unknown."""
        if not self.seconds or not peak_flops or not bandwidth:
            return 0.0
        return max(self.work / peak_flops, self.nbytes / bandwidth) / self.seconds


@dataclass(frozen=True)
class Span:
    """Something of the median call: nanoseconds since the first kernel or command started.

    Attributes:
        name: an operator's, or what a copy does.
        kernel: the function that ran; "" for copies.
        row: who did it: the calling thread, a thread of the pool, or a device by its name.
    """

    name: str
    kernel: str
    begin: int
    end: int
    row: str = CALLER


@dataclass(frozen=True)
class Copies:
    """What a call copies in one direction: "copy to", "copy from" or "copy within" a device.

    Attributes:
        seconds: of all of them in one call, the median; 0 if the device's model has no times.
    """

    kind: str
    count: int
    nbytes: int
    seconds: float


@dataclass(frozen=True)
class DeviceProfile:
    """Where the time of a device goes in a call, each command alone.

    Attributes:
        name: the device's.
        operators: in the order in which they run first.
        copies: by direction.
        is_modelled: times are those of a simulator's model, no measurements.
        peak_flops: FLOP/s; 0 if unknown.
        bandwidth: of its memory, bytes per second; 0 if unknown.
    """

    name: str
    operators: tuple[OperatorTime, ...]
    copies: tuple[Copies, ...]
    is_modelled: bool
    peak_flops: float = 0.0
    bandwidth: float = 0.0

    @property
    def operator_seconds(self) -> float:
        """The operators' times in all."""
        return sum(operator.seconds for operator in self.operators)


@dataclass(frozen=True)
class Profile:
    """Where the time of a call goes.

    Attributes:
        program: the compiled function.
        operators: of the host, in the order in which they run first.
        spans: the kernels of one call, the median one, and what devices and other threads do.
        seconds: of a call of the recorded program, from outside.
        plain_seconds: of a call of the program that records nothing, measured in between.
        repeat: how many calls of each.
        threads: that parallel loops use.
        peak_flops: of the host, measured, FLOP/s of these threads; 0 if unknown.
        bandwidth: of the host, measured, bytes per second that they read; 0 if unknown.
        devices: that the program uses.
        overhead: the part by which recording makes a call longer.
        overhead_error: how much of that may be noise.
        vector_bits: how wide the vectors of the code are; 0 if unknown.
        peaks: of the host, by the bits of vectors, of which `peak_flops` is the highest.
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
        """The operators' times on the host in all."""
        return sum(operator.seconds for operator in self.operators)

    def slowest(self, count: int = 3) -> list[OperatorTime]:
        """The operators that take most of the host's time, the slowest first."""
        return sorted(self.operators, key=lambda operator: -operator.seconds)[:count]

    def roofline(self, operator: OperatorTime) -> float:
        """Its least time by peak and bandwidth, over its time: 1 is as fast as the host allows.

        Arrays that an earlier operator left in a cache are read faster than main memory is, so it
        may be above 1. It is 0 if peaks are not known.
        """
        return operator.roofline(self.peak_flops, self.bandwidth)

    def table(self, limit: int | None = None) -> str:
        """The operators, the slowest first, and what they sum up to; `limit` is how many."""
        return profile_table(self, limit)

    def timeline(self) -> dict[str, Any]:
        """One call in the trace event format that Perfetto and chrome://tracing read."""
        return timeline(self)

    def save_timeline(self, path: str | Path) -> None:
        """Write the timeline as JSON for Perfetto, or to a file named `.svg` as a picture.

        Raises UserError if that cannot be written.
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
    """The spans between times of one call: each kernel ends where the next one begins.

    `pieces` are the parts of parallel loops; those of the caller are within its own spans.
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

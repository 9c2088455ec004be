# SPDX-License-Identifier: Apache-2.0
"""Profiles a program: runs an instrumented copy alternately with the original."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from xtc.core.errors import UserError
from xtc.driver.argument_memory import argument_addresses
from xtc.driver.cached import build_or_fetch
from xtc.driver.default_schedules import default_schedules
from xtc.driver.operator_times import fused_nodes, main_type, operator_time
from xtc.driver.recorded_calls import RecordedCall, timed, windows
from xtc.evaluate.call_times import median_ratio, middle_half, require_calls
from xtc.evaluate.profile import OperatorTime, Profile, spans_of
from xtc.interfaces.runtime import (
    LoadedModule,
    ProgramRuntime,
    RecordedKernel,
    RecordedKernels,
)
from xtc.ir.pipeline import PassRunner
from xtc.system.workspace import private_folder

if TYPE_CHECKING:
    from xtc.driver.compilation import Compilation
    from xtc.graph.graph import Graph

Array = np.ndarray[Any, Any]

_FIRST_CALLS = 3  # the fastest of them estimates the time of a call


def profile(
    compilation: Compilation,
    plain: Callable[[], None],
    arrays: Sequence[Array],
    repeat: int,
    *,
    cache: bool = True,
) -> Profile:
    """Run the instrumented program `repeat` times on arrays, alternating with the call `plain`.

    If a call takes microseconds, each of its profiles combines several calls.

    With `cache`, the instrumented program uses the artifact cache.
    Raises UserError if the target records no kernels.
    """
    require_calls(repeat)
    with _recording(compilation, arrays, cache) as (host, recorder, call):
        seconds = min(timed(plain) for _ in range(_FIRST_CALLS))
        call()
        if not recorder.kernels:
            raise UserError(f"'{compilation.graph.name}' has no operators to profile")
        chosen = windows(len(recorder.kernels), seconds)
        calls = [RecordedCall.of(recorder, call, plain, chosen, number) for number in range(repeat)]
        return _profile(compilation, recorder, host, calls)


def _profile(
    compilation: Compilation,
    recorder: RecordedKernels,
    host: ProgramRuntime,
    calls: Sequence[RecordedCall],
) -> Profile:
    """The profile over the middle half of the calls by duration, with spans of the median call."""
    seconds = [call.seconds for call in calls]
    plain_seconds = [call.plain_seconds for call in calls]
    kept = middle_half(seconds)
    times = np.mean([np.diff(calls[number].stamps) for number in kept], axis=0) / 1e9
    median = calls[int(np.argsort(seconds)[len(calls) // 2])]
    ratio, error = median_ratio(seconds, plain_seconds)
    dtype = main_type(compilation.graph)
    peaks = host.peaks_by_width(dtype)
    kernels = _renamed(compilation.graph, recorder.kernels)
    return Profile(
        compilation.graph.name,
        _operators(compilation, kernels, times.tolist()),
        spans_of(kernels, median.stamps, median.pieces),
        float(np.mean([seconds[number] for number in kept])),
        float(np.mean([plain_seconds[number] for number in middle_half(plain_seconds)])),
        len(calls),
        recorder.threads,
        max(peaks.values(), default=0.0),
        host.memory_bandwidth(),
        overhead=ratio - 1,
        overhead_error=error,
        vector_bits=recorder.vector_bits,
        peaks=peaks,
    )


@contextmanager
def _recording(
    compilation: Compilation, arrays: Sequence[Array], cache: bool
) -> Iterator[tuple[ProgramRuntime, RecordedKernels, Callable[[], None]]]:
    """The instrumented program, loaded, and a call of it."""
    target = compilation.target
    if not hasattr(compilation.options, "profile"):
        raise UserError(
            f"programs for {target.name} record no times",
            hints=[
                "module.measure() times whole calls and shows modelled figures",
                "module.host.counters() after a call has the simulator's counts by operator",
            ],
        )
    options = replace(compilation.options, profile=True)
    recording = replace(compilation, options=options, runner=PassRunner())
    with ExitStack() as stack:
        host = stack.enter_context(target.runtime(options))
        folder = Path(stack.enter_context(private_folder("profile-")))
        artifact = build_or_fetch(recording, folder, cache).artifact
        loaded: LoadedModule = host.load(artifact)
        if not isinstance(loaded, RecordedKernels):
            raise UserError(f"programs for {target.name} record no times")
        addresses = stack.enter_context(argument_addresses(artifact.manifest, {}, arrays))
        yield host, loaded, loaded.bind(addresses)


def _renamed(graph: Graph, kernels: Sequence[RecordedKernel]) -> list[RecordedKernel]:
    """The kernels, each named after its operator's last node."""
    order = {node.name: number for number, node in enumerate(graph.nodes)}
    last: dict[str, str] = {}
    for kernel in kernels:
        known = [node for node in (*kernel.nodes, kernel.node) if node in order]
        known += [last[kernel.node]] if kernel.node in last else []
        last[kernel.node] = max(known, key=order.__getitem__, default=kernel.node)
    return [kernel._replace(node=last[kernel.node]) for kernel in kernels]


def _operators(
    compilation: Compilation, kernels: Sequence[RecordedKernel], times: Sequence[float]
) -> tuple[OperatorTime, ...]:
    """The operators, from kernels by graph node; fused nodes belong to their kernel's operator."""
    graph = compilation.graph
    seconds: dict[str, float] = {}
    calls: dict[str, list[RecordedKernel]] = {}
    for kernel, time in zip(kernels, times, strict=True):
        seconds[kernel.node] = seconds.get(kernel.node, 0.0) + float(time)
        calls.setdefault(kernel.node, []).append(kernel)
    nodes = {name: {n for kernel in calls[name] for n in kernel.nodes} for name in seconds}
    members = fused_nodes(graph, nodes)
    schedules = {**default_schedules(compilation), **compilation.schedules}
    return tuple(
        operator_time(
            *(graph, members.get(name, []), name, [kernel.function for kernel in calls[name]]),
            *(seconds[name], schedules, _executed(calls[name])),
        )
        for name in seconds
    )


def _executed(kernels: Sequence[RecordedKernel]) -> int | None:
    """The total operations; None if those of a kernel are unknown, or there are only integers."""
    found = [kernel.operations for kernel in kernels if kernel.operations is not None]
    return sum(found) or None if len(found) == len(kernels) else None

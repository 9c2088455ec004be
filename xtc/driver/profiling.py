# SPDX-License-Identifier: Apache-2.0
"""Profiles: the program once more, recording its kernels, beside the program that does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

import numpy as np

from xtc.core.errors import UserError
from xtc.driver.argument_memory import argument_addresses
from xtc.driver.cached import build_or_fetch
from xtc.driver.default_schedules import default_schedules
from xtc.driver.operator_times import fused_nodes, operator_time
from xtc.evaluate.profile import OperatorTime, Profile, spans_of
from xtc.interfaces.runtime import LoadedModule, ProgramRuntime, RecordedKernels
from xtc.ir.pipeline import PassRunner
from xtc.system.workspace import private_folder

if TYPE_CHECKING:
    from xtc.driver.compilation import Compilation

Array = np.ndarray[Any, Any]


def profile(
    compilation: Compilation,
    plain: Callable[[], None],
    arrays: Sequence[Array],
    repeat: int,
    *,
    cache: bool = True,
) -> Profile:
    """Run the recording program `repeat` times on arrays, in turns with the call `plain`.

    With `cache` that program may come from the cache, which keeps it then.
    Raises UserError where the target records no kernels.
    """
    if repeat < 1:
        raise UserError(f"repeat={repeat} is not 1 or more")
    with _recording(compilation, arrays, cache) as (host, recorder, call):
        call()
        plain()
        kernels = recorder.kernels
        if not kernels:
            raise UserError(f"'{compilation.graph.name}' has no operators that can be told apart")
        seconds, plain_seconds, stamps, pieces = [], [], [], []
        for _ in range(repeat):
            plain_seconds.append(_timed(plain))
            pieces.append(recorder.pieces(lambda: seconds.append(_timed(call))))
            stamps.append(recorder.stamps())
        dtype = compilation.arguments()[-1].dtype
        times = np.diff(np.array(stamps), axis=1) / 1e9
        middle = int(np.argsort(seconds)[repeat // 2])
        return Profile(
            compilation.graph.name,
            _operators(compilation, kernels, np.median(times, axis=0).tolist()),
            spans_of(kernels, stamps[middle], pieces[middle]),
            float(np.median(seconds)),
            float(np.median(plain_seconds)),
            repeat,
            recorder.threads,
            host.peak_flops(dtype),
            host.memory_bandwidth(),
        )


def _timed(call: Callable[[], None]) -> float:
    start = perf_counter_ns()
    call()
    return (perf_counter_ns() - start) / 1e9


@contextmanager
def _recording(
    compilation: Compilation, arrays: Sequence[Array], cache: bool
) -> Iterator[tuple[ProgramRuntime, RecordedKernels, Callable[[], None]]]:
    """The program that records, loaded, and a call of it."""
    target = compilation.target
    if not hasattr(compilation.options, "profile"):
        raise UserError(
            f"programs for {target.name} record no times",
            hints=["module.measure() times whole calls and shows what a simulator models"],
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


def _operators(
    compilation: Compilation, kernels: Sequence[tuple[str, str]], times: Sequence[float]
) -> tuple[OperatorTime, ...]:
    """The kernels by graph node; what is fused into one belongs to it."""
    graph = compilation.graph
    seconds: dict[str, float] = {}
    names: dict[str, list[str]] = {}
    for (node, kernel), time in zip(kernels, times, strict=True):
        seconds[node] = seconds.get(node, 0.0) + float(time)
        names.setdefault(node, []).append(kernel)
    members = fused_nodes(graph, seconds)
    schedules = {**default_schedules(compilation), **compilation.schedules}
    return tuple(
        operator_time(graph, members.get(name, []), name, names[name], seconds[name], schedules)
        for name in seconds
    )

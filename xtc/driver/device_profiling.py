# SPDX-License-Identifier: Apache-2.0
"""Profiles of programs that use devices: runs each command alone and times it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter_ns
from typing import TYPE_CHECKING

import numpy as np

from xtc.driver.operator_times import main_type, operator_time
from xtc.evaluate.call_times import require_calls
from xtc.evaluate.profile import Copies, DeviceProfile, OperatorTime, Profile, Span
from xtc.interfaces.offload import Kernel
from xtc.interfaces.runtime import AcceleratorDevice
from xtc.runtime import Command

if TYPE_CHECKING:
    from xtc.driver.compilation import Compilation
    from xtc.graph.node import Node

_REST = "rest"


def profile_devices(
    compilation: Compilation,
    kernels: Sequence[Kernel],
    devices: Mapping[str, AcceleratorDevice],
    plain: Callable[[], None],
    record: Callable[[], list[Command]],
    repeat: int,
) -> Profile:
    """The profile of a program that sends commands to devices.

    `plain` calls it, `record` calls it with each command run alone. Times of simulators are
    modelled and deterministic: if all devices are simulators, one call is enough.
    """
    require_calls(repeat)
    plain()  # what only the first call does is not counted
    if all(device.is_modelled for device in devices.values()):
        repeat = 1
    seconds, plain_seconds, calls = [], [], []
    for _ in range(repeat):
        plain_seconds.append(_timed(plain))
        start = perf_counter_ns()
        commands = record()
        calls.append(_Call(start, perf_counter_ns(), commands))
        seconds.append((calls[-1].end - start) / 1e9)
    operators = _Operators(compilation, kernels)
    middle = calls[int(np.argsort(seconds)[repeat // 2])]
    return Profile(
        compilation.graph.name,
        operators.on_host([call.host_seconds for call in calls]),
        tuple(_spans(middle, operators)),
        float(np.median(seconds)),
        float(np.median(plain_seconds)),
        repeat,
        devices=tuple(
            DeviceProfile(
                name,
                operators.on_device(name, calls),
                tuple(_copies(name, calls)),
                device.is_modelled,
                device.peak_flops(main_type(compilation.graph)),
                device.memory_bandwidth(),
            )
            for name, device in devices.items()
        ),
    )


def _timed(call: Callable[[], None]) -> float:
    start = perf_counter_ns()
    call()
    return (perf_counter_ns() - start) / 1e9


@dataclass(frozen=True)
class _Call:
    """A recorded call, with its start and end in nanoseconds."""

    begin: int
    end: int
    commands: list[Command]

    @property
    def host_seconds(self) -> float:
        """The time outside commands: the host's operators, and submitting commands."""
        commands = sum(command.end - command.begin for command in self.commands)
        return (self.end - self.begin - commands) / 1e9


class _Operators:
    """Groups kernels into operators of the graph.

    Kernels that compute parts of the same node form one operator, named after its last node.
    """

    def __init__(self, compilation: Compilation, kernels: Sequence[Kernel]) -> None:
        self._graph = compilation.graph
        self._schedules = compilation.schedules
        self._kernels = kernels
        self._nodes = {node.name: node for node in self._graph.nodes}
        self._names = {number: _members(number, kernels) for number in range(len(kernels))}

    def name(self, kernel: int) -> str:
        """The operator of a kernel."""
        nodes = self._of(kernel)
        return nodes[-1].name if nodes else self._kernels[kernel].symbol

    def symbol(self, kernel: int) -> str:
        """The function of a kernel in its image."""
        return self._kernels[kernel].symbol

    def on_device(self, device: str, calls: Sequence[_Call]) -> tuple[OperatorTime, ...]:
        """The operators that a device computes, in the order of their first run."""
        launched: dict[str, list[int]] = {}
        for command in calls[0].commands:
            if command.device == device and command.kernel >= 0:
                launched.setdefault(self.name(command.kernel), []).append(command.kernel)
        return tuple(
            self._operator(self._of(kernels[0]), name, kernels, _median(calls, kernels))
            for name, kernels in launched.items()
        )

    def on_host(self, seconds: Sequence[float]) -> tuple[OperatorTime, ...]:
        """The operators that no device computes, combined into one."""
        computed = {name for kernel in range(len(self._kernels)) for name in self._names[kernel]}
        nodes = [node for node in self._graph.nodes if node.name not in computed]
        return (self._operator(nodes, _REST, (), float(np.median(seconds))),) if nodes else ()

    def _of(self, kernel: int) -> list[Node]:
        names = self._names[kernel]
        return [node for name, node in self._nodes.items() if name in names]

    def _operator(
        self, nodes: Sequence[Node], name: str, kernels: Sequence[int], seconds: float
    ) -> OperatorTime:
        symbols = [self._kernels[kernel].symbol for kernel in kernels]
        return operator_time(self._graph, nodes, name, symbols, seconds, self._schedules)


def _members(kernel: int, kernels: Sequence[Kernel]) -> set[str]:
    """The nodes of a kernel and of its device's kernels that share nodes with it."""
    found = set(kernels[kernel].nodes)
    while True:
        more = found.union(
            *(
                other.nodes
                for other in kernels
                if other.device == kernels[kernel].device and found.intersection(other.nodes)
            )
        )
        if more == found:
            return found
        found = more


def _median(calls: Sequence[_Call], kernels: Sequence[int]) -> float:
    """The median seconds per call of all launches of these kernels."""
    return float(
        np.median([sum(c.seconds for c in call.commands if c.kernel in kernels) for call in calls])
    )


def _copies(device: str, calls: Sequence[_Call]) -> Iterator[Copies]:
    every = [[c for c in call.commands if c.device == device and c.kernel < 0] for call in calls]
    for kind in dict.fromkeys(command.kind for command in every[0]):
        times = [sum(c.seconds for c in commands if c.kind == kind) for commands in every]
        nbytes = [command.nbytes for command in every[0] if command.kind == kind]
        yield Copies(kind, len(nbytes), sum(nbytes), float(np.median(times)))


def _spans(call: _Call, operators: _Operators) -> Iterator[Span]:
    """The commands and the host's work between them, in sequence.

    Modelled times replace the host's clock if a device is a simulator.
    """
    now, before = 0, call.begin
    for command in call.commands:
        yield Span(_REST, "", now, now + command.begin - before)
        now += command.begin - before
        length = round(command.seconds * 1e9)
        name = operators.name(command.kernel) if command.kernel >= 0 else command.kind
        kernel = operators.symbol(command.kernel) if command.kernel >= 0 else ""
        yield Span(name, kernel, now, now + length, command.device)
        now, before = now + length, command.end
    yield Span(_REST, "", now, now + call.end - before)

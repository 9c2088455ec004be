# SPDX-License-Identifier: Apache-2.0
"""A callable kernel: it compiles for its constants and selects a tuning schedule."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from typing import Any

from xtc.core.errors import UserError, XtcError, shown
from xtc.tile import config
from xtc.tile.launch.arguments import bound, constructed
from xtc.tile.launch.compiled import Kernel
from xtc.tile.launch.replays import Replays
from xtc.tile.script import Script
from xtc.tile.transcription.block_prints import block_of
from xtc.tile.transcription.source import Parameter, parameters
from xtc.tile.tuning.ranking import Candidate, Schedule, Tuning
from xtc.tile.types import DataType
from xtc.tile.values.methods import method


@method("program")
class Program:
    """A kernel with its tuning parameters, ready to be called.

    Calling it runs the kernel on NumPy arrays or device arrays. Each value of a constant compiles
    the kernel once; run-time numbers never recompile it.
    """

    def __init__(self, cls: type[Script], args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        block_of(cls)
        self._cls, self._args, self._kwargs = cls, tuple(args), dict(kwargs)
        self._compiled: dict[Any, Kernel] = {}
        self._chosen: dict[Any, Kernel] = {}
        self._replays = Replays()
        self._schedules: tuple[Schedule, ...] = ()
        self._debugged: Any = None

    def __repr__(self) -> str:
        return f"<tile kernel {self._cls.__name__}>"

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The kernel's parameters."""
        return parameters(self._cls)

    @property
    def schedules(self) -> tuple[Schedule, ...]:
        """The combinations of tuning parameters to try; only `debug_schedule` if it is set."""
        debugged = self._cls.debug_schedule
        if not self._schedules or debugged is not self._debugged:
            self._schedules = self._tuned() if debugged is None else self._set_by(debugged)
            self._debugged, self._replays = debugged, Replays()
        return self._schedules

    def _set_by(self, debugged: Any) -> tuple[Schedule, ...]:
        if not isinstance(debugged, Mapping):
            raise UserError(
                f"{self._cls.__name__}.debug_schedule is {shown(debugged)}",
                hints=["dict(block=64): the tuning parameters by name"],
            )
        return (self._schedule(dict(debugged)),)

    def _tuned(self) -> tuple[Schedule, ...]:
        axes = [
            [dict(zip(names, row, strict=True)) for row in rows]
            for names, rows in reversed(self._cls._tuning)
        ]
        found = []
        for parts in itertools.product(*axes):
            merged: dict[str, Any] = {}
            for part in parts:
                merged.update(part)
            found.append(self._schedule(merged))
        return tuple(found)

    def _schedule(self, tuned: Mapping[str, Any]) -> Schedule:
        named = {**tuned, **self._kwargs}
        chosen = ", ".join(f"{name}={value!r}" for name, value in tuned.items())
        constructed(self._cls, self._args, named, f"tuned: {chosen}" if chosen else "")
        return self._args, tuple(sorted(named.items()))

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        """Run the kernel and wait for it. Raises KernelError, UserError and DeviceError."""
        is_known = not kwargs and self._debugged is self._cls.debug_schedule
        if is_known and self._replays.repeated(args):
            return
        values = self._bound(args, kwargs)
        device = config.device_for(values.values())
        replay = self._pick(values, device).launch(device, values)
        if not kwargs:
            self._replays.remember(args, replay)

    def compile(self, *args: Any, **kwargs: Any) -> Kernel:
        """The kernel, compiled for these arguments and the device that a call would use.

        Pointers may be None, as compiling needs no arrays.
        """
        values = self._bound(args, kwargs, arrays=False)
        return self._pick(values, config.device_for(values.values()))

    def jit_instance_for(self, *args: Any, **kwargs: Any) -> Kernel:
        """The same as `compile`, under Tilus's name."""
        return self.compile(*args, **kwargs)

    def check(self, *args: Any, **kwargs: Any) -> Any:
        """Run the kernel in the interpreter, which finds races, and fill the arrays.

        Raises RaceError for the first race, DeadlockError, and UserError.
        """
        values = self._bound(args, kwargs)
        return self._pick(values, config.device_for(values.values())).check(values)

    def check_passes(self, *args: Any, **kwargs: Any) -> Any:
        """Check the kernel after each compiler pass that changes it, as long as it has tiles.

        Returns reports by pass name, `source` first; the arrays keep their contents. Raises the
        errors of `check`, with the pass in a note if the compiler introduced the mistake.
        """
        values = self._bound(args, kwargs)
        return self._pick(values, config.device_for(values.values())).check_passes(values)

    def candidates(self, *args: Any, **kwargs: Any) -> list[Candidate]:
        """Each schedule with its time or its error, the fastest first.

        Times are measured on a GPU when arrays are given, and modelled otherwise, as `how` states.
        Candidates compile concurrently, each in a process that may crash or time out.
        """
        values = self._bound(args, kwargs, arrays=False)
        return self._tuning_of(values, config.device_for(values.values())).ranked()

    def _bound(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], arrays: bool = True
    ) -> dict[str, Any]:
        return bound(self._cls.__name__, self.parameters, args, kwargs, arrays=arrays)

    def _pick(self, values: dict[str, Any], device: Any) -> Kernel:
        if len(self.schedules) == 1:
            return self._kernel(self.schedules[0], values, device)
        key = (self._constants(values), config.support_of(device)[1], self._magnitudes(values))
        if key not in self._chosen:
            chosen = self._tuning_of(values, device).choice()
            self._chosen[key] = self._kernel(chosen, values, device)
        return self._chosen[key]

    def _tuning_of(self, values: dict[str, Any], device: Any) -> Tuning:
        found: list[tuple[Schedule, Kernel | XtcError]] = []
        for schedule in self.schedules:
            try:
                found.append((schedule, self._kernel(schedule, values, device)))
            except XtcError as error:
                found.append((schedule, error))
        return Tuning(self._cls.__name__, found, values, self._magnitudes(values), device)

    def _kernel(self, schedule: Schedule, values: dict[str, Any], device: Any) -> Kernel:
        constants = self._constants(values)
        key = (_hashable(schedule), constants, config.support_of(device)[1])
        if key not in self._compiled:
            self._compiled[key] = Kernel(
                self._cls, (schedule[0], dict(schedule[1])), dict(constants), device
            )
        return self._compiled[key].suited_to(values)

    def _constants(self, values: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
        return tuple((name, values[name]) for name in self._constant_names)

    @cached_property
    def _constant_names(self) -> tuple[str, ...]:
        return tuple(p.name for p in self.parameters if p.is_constant)

    def _magnitudes(self, values: dict[str, Any]) -> int:
        """The orders of magnitude of run-time integers; a schedule is chosen for each."""
        numbers = [
            values[p.name]
            for p in self.parameters
            if isinstance(p.kind, DataType) and p.kind.is_integer()
        ]
        return sum(int(abs(number)).bit_length() << (6 * at) for at, number in enumerate(numbers))


@dataclass(frozen=True)
class _Same:
    """An object that is equal to itself only."""

    of: Any

    def __hash__(self) -> int:
        return id(self.of)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.of is other.of


def _hashable(value: Any) -> Any:
    """A parameter as a hashable value: lists, mappings and records as tuples, other objects by
    identity if they have no hash."""
    if isinstance(value, Mapping):
        return tuple((_hashable(key), _hashable(item)) for key, item in value.items())
    if isinstance(value, list | tuple):
        return tuple(map(_hashable, value))
    try:
        hash(value)
    except TypeError:
        if is_dataclass(value):
            return (type(value), _hashable([getattr(value, each.name) for each in fields(value)]))
        return _Same(value)
    return value

# SPDX-License-Identifier: Apache-2.0
"""A kernel that can be called: it compiles for its constants and picks a tuning schedule."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from xtc.core.errors import UserError, XtcError, did_you_mean, shown
from xtc.core.types import element_type
from xtc.tile import config
from xtc.tile.compiled import Kernel
from xtc.tile.foreign import over
from xtc.tile.host_tensors import Tensor
from xtc.tile.methods import method
from xtc.tile.script import Script
from xtc.tile.source import Parameter, parameters
from xtc.tile.tuning import Candidate, Schedule, Tuning
from xtc.tile.types import TYPES, DataType, PointerType


@method("program")
class Program:
    """An object of a kernel's class, with the tuning parameters that were given.

    Calling it runs the kernel on NumPy arrays or device arrays. A number of run time never
    recompiles it; each value of a constant does, once.
    """

    def __init__(self, cls: type[Script], args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        self._cls, self._args, self._kwargs = cls, tuple(args), dict(kwargs)
        self._compiled: dict[Any, Kernel] = {}
        self._chosen: dict[Any, Kernel] = {}

    def __repr__(self) -> str:
        return f"<tile kernel {self._cls.__name__}>"

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """What the kernel is called with."""
        return parameters(self._cls)

    @property
    def schedules(self) -> tuple[Schedule, ...]:
        """The combinations of tuning parameters that are tried."""
        if self._cls.debug_schedule is not None:
            return (self._schedule(dict(self._cls.debug_schedule)),)
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

    def _schedule(self, tuned: dict[str, Any]) -> Schedule:
        return self._args, tuple(sorted({**tuned, **self._kwargs}.items()))

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        """Run the kernel and wait for it. Raises KernelError, UserError and DeviceError."""
        values = self._bound(args, kwargs)
        device = config.device_for(values.values())
        self._pick(values, device).launch(device, values)

    def compile(self, *args: Any, **kwargs: Any) -> Kernel:
        """The kernel for these arguments, compiled for the device that a call would use.

        Pointers may be None: compiling needs no array.
        """
        values = self._bound(args, kwargs, arrays=False)
        return self._pick(values, config.device_for(values.values()))

    def check(self, *args: Any, **kwargs: Any) -> Any:
        """Run the kernel in the interpreter, which finds races; writes its results to the arrays.

        Raises RaceError for the first race, DeadlockError, and UserError.
        """
        values = self._bound(args, kwargs)
        return self._pick(values, config.device_for(values.values())).check(values)

    def candidates(self, *args: Any, **kwargs: Any) -> list[Candidate]:
        """Each schedule with its modelled time, or why it cannot be compiled; the best one first.

        They compile beside each other, each in a process that may crash or take too long.
        """
        values = self._bound(args, kwargs, arrays=False)
        return self._tuning_of(values, config.device_for(values.values())).ranked()

    def _bound(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], arrays: bool = True
    ) -> dict[str, Any]:
        known = self.parameters
        names = [parameter.name for parameter in known]
        if len(args) > len(names):
            raise UserError(f"{self._cls.__name__} takes {len(names)} arguments, not {len(args)}")
        given = dict(zip(names, args, strict=False))
        for name, value in kwargs.items():
            if name not in names or name in given:
                problem = "twice" if name in given else "which it does not take"
                hints = did_you_mean(name, names)
                raise UserError(f"{self._cls.__name__} is given '{name}' {problem}", hints=hints)
            given[name] = value
        for parameter in known:
            if parameter.name not in given:
                if parameter.default is None:
                    raise UserError(f"{self._cls.__name__} needs '{parameter.name}'")
                given[parameter.name] = parameter.default
        return {p.name: checked(p, given[p.name], arrays) for p in known}

    def _pick(self, values: dict[str, Any], device: Any) -> Kernel:
        key = (self._constants(values), config.support_of(device)[1], self._magnitudes(values))
        if key not in self._chosen:
            if len(self.schedules) == 1:
                self._chosen[key] = self._kernel(self.schedules[0], values, device)
            else:
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
        return Tuning(self._cls.__name__, found, values, self._magnitudes(values))

    def _kernel(self, schedule: Schedule, values: dict[str, Any], device: Any) -> Kernel:
        constants = self._constants(values)
        key = (_hashable(schedule), constants, config.support_of(device)[1])
        if key not in self._compiled:
            self._compiled[key] = Kernel(
                self._cls, (schedule[0], dict(schedule[1])), dict(constants), device
            )
        return self._compiled[key]

    def _constants(self, values: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
        return tuple((p.name, values[p.name]) for p in self.parameters if p.is_constant)

    def _magnitudes(self, values: dict[str, Any]) -> int:
        """The order of magnitude of run-time numbers, for which a schedule is chosen anew."""
        numbers = [values[p.name] for p in self.parameters if isinstance(p.kind, DataType)]
        return sum(int(abs(number)).bit_length() << (6 * at) for at, number in enumerate(numbers))


def _hashable(value: Any) -> Any:
    """A parameter as what can be looked up: lists and mappings as tuples."""
    if isinstance(value, Mapping):
        value = sorted(value.items())
    return tuple(map(_hashable, value)) if isinstance(value, list | tuple) else value


def checked(parameter: Parameter, value: Any, arrays: bool) -> Any:
    """An argument in the type of its parameter. Raises UserError where it does not fit."""
    kind, name = parameter.kind, parameter.name
    if isinstance(kind, PointerType):
        return _array(name, kind, value) if arrays or value is not None else None
    if isinstance(kind, DataType):
        if isinstance(value, bool) or not isinstance(value, int | float | np.number):
            raise UserError(f"'{name}' is a {kind}, not {shown(value)}")
        if not kind.is_float() and not kind.least <= int(value) <= kind.greatest:
            raise UserError(f"'{name}' = {value} does not fit in {kind}")
        if not kind.is_float() and int(value) != value:
            raise UserError(f"'{name}' is a {kind}, not {value}")
        return float(value) if kind.is_float() else int(value)
    if isinstance(value, np.generic):
        value = value.item()
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not kind:
        raise UserError(f"'{name}' is a constant of type {kind.__name__}, not {shown(value)}")
    return value


def _array(name: str, kind: PointerType, value: Any) -> Any:
    if isinstance(value, Tensor):
        value = value.numpy() if value.is_on_host else value.storage
    value = over(value)
    dtype = getattr(value, "dtype", None)
    if not hasattr(value, "__dlpack__") and (dtype is None or not hasattr(value, "shape")):
        raise UserError(
            f"'{name}' is an array, not {shown(value)}",
            hints=["NumPy arrays, device arrays, and tensors of libraries that speak DLPack"],
        )
    if isinstance(value, np.ndarray):
        if not value.flags.c_contiguous:
            raise UserError(
                f"'{name}' is not contiguous, and a pointer has no strides",
                hints=["pass numpy.ascontiguousarray(x)"],
            )
        is_small = any(dtype.is_coded and dtype.numpy == value.dtype for dtype in TYPES)
        found: Any = value.dtype if is_small else element_type(value.dtype).numpy
    else:
        found = np.dtype(dtype) if isinstance(dtype, np.dtype) else None
    if kind.element is not None and found is not None and found != kind.element.numpy:
        raise UserError(f"'{name}' has elements of {found}, and the kernel takes {kind.element}")
    return value

# SPDX-License-Identifier: Apache-2.0
"""Records a program's device commands, with the time of each."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from ctypes import c_uint64, c_void_p
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import Any

from xtc.core.errors import XtcError
from xtc.runtime.device import DriverDevice

LAUNCH, COPY_TO, COPY_FROM, COPY_WITHIN = "launch", "copy to", "copy from", "copy within"

_NUMBERS = {COPY_TO: 3, COPY_FROM: 4, COPY_WITHIN: 5, LAUNCH: 6}
"""The functions of `csrc/program.h` that issue commands, each with five words as arguments."""
_WAIT_NUMBER = 8
_NBYTES = 3  # the word with the size of a copy

_Give = ctypes.CFUNCTYPE(None, c_void_p, *[c_uint64] * 5)
_Wait = ctypes.CFUNCTYPE(None, c_void_p, c_uint64)


@dataclass(frozen=True)
class Command:
    """A command that ran alone on its device.

    Attributes:
        kind: LAUNCH, COPY_TO, COPY_FROM or COPY_WITHIN.
        device: the device's name.
        kernel: the number of a launch's kernel in the program; -1 for copies.
        nbytes: the size of a copy; 0 for launches.
        begin: when it was issued, in nanoseconds of the host's clock.
        end: when it was done, likewise.
        modelled: its modelled seconds; None if the device has no timing model.
    """

    kind: str
    device: str
    kernel: int
    nbytes: int
    begin: int
    end: int
    modelled: float | None

    @property
    def seconds(self) -> float:
        """The modelled time, else the host's time from issue to end."""
        return (self.end - self.begin) / 1e9 if self.modelled is None else self.modelled


@dataclass
class CommandRecorder:
    """Waits for each command of a program and records its time.

    Commands that would run in parallel are serialized.

    Args:
        devices: the program's devices by name, in its order.
        kernel_devices: the device number of each kernel.
    """

    devices: Mapping[str, DriverDevice]
    kernel_devices: Sequence[int]
    commands: list[Command] = field(default_factory=list)
    _failure: BaseException | None = None

    @contextlib.contextmanager
    def installed(self, functions: Any) -> Iterator[None]:
        """In the context, record the commands issued through a `struct xtc_program`.

        An exception of a signal handler in the context is raised at its end.
        """
        originals = list(functions)
        wait = _Wait(originals[_WAIT_NUMBER])
        kept = {
            number: _Give(self._recording(kind, _Give(originals[number]), wait))
            for kind, number in _NUMBERS.items()
        }
        try:
            for number, function in kept.items():
                functions[number] = ctypes.cast(function, c_void_p).value
            yield
        finally:
            functions[:] = originals
        if self._failure is not None:
            raise self._failure

    def _recording(
        self, kind: str, give: Callable[..., None], wait: Callable[..., None]
    ) -> Callable[..., None]:
        def record(program: int, *words: int) -> None:
            try:
                self._run(kind, words, lambda: give(program, *words), lambda d: wait(program, d))
            except BaseException as error:  # the program's code cannot propagate an exception
                self._failure = self._failure or error

        return record

    def _run(
        self, kind: str, words: Sequence[int], give: Callable[[], None], wait: Callable[[int], None]
    ) -> None:
        launches = kind == LAUNCH
        number = self.kernel_devices[words[0]] if launches else words[0]
        name = list(self.devices)[number]
        begin = perf_counter_ns()
        before = self._model(name)
        give()
        wait(number)
        after = self._model(name)
        end = perf_counter_ns()
        modelled = None if before is None or after is None else after - before
        kernel, nbytes = (words[0], 0) if launches else (-1, words[_NBYTES])
        self.commands.append(Command(kind, name, kernel, nbytes, begin, end, modelled))

    def _model(self, name: str) -> float | None:
        """The seconds that the device's timing model has counted; None without a model.

        The largest, if there are several lower bounds.
        """
        device = self.devices[name]
        if not device.is_modelled:
            return None
        with contextlib.suppress(XtcError):  # the program's own wait raises the device's failure
            figures = device.modelled_figures().items()
            return max(
                (value for figure, value in figures if figure.endswith("SECONDS")), default=None
            )
        return None

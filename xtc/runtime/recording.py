# SPDX-License-Identifier: Apache-2.0
"""Records the commands that a program gives its devices, with the time of each."""

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
"""The functions of `csrc/program.h` that give commands; all of them take five words."""
_WAIT_NUMBER = 8
_NBYTES = 3  # the word of a copy that says how many

_Give = ctypes.CFUNCTYPE(None, c_void_p, *[c_uint64] * 5)
_Wait = ctypes.CFUNCTYPE(None, c_void_p, c_uint64)


@dataclass(frozen=True)
class Command:
    """A command as it ran, alone on its device.

    Attributes:
        kind: LAUNCH, COPY_TO, COPY_FROM or COPY_WITHIN.
        device: the device's name.
        kernel: a launch's, its number in the program; -1 for copies.
        nbytes: of a copy; 0 for launches.
        begin: when it was given, nanoseconds of the host's clock.
        end: when it was done.
        modelled: its seconds by the device's model; None if the device has no model of time.
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
        """The modelled time, else the host's: from the command's giving to its end."""
        return (self.end - self.begin) / 1e9 if self.modelled is None else self.modelled


@dataclass
class CommandRecorder:
    """Waits for each command of a program, and writes down how long it took.

    Commands that would run beside each other run one after another.

    Args:
        devices: the program's, by name, in its order.
        kernel_devices: for each kernel the number of its device.
    """

    devices: Mapping[str, DriverDevice]
    kernel_devices: Sequence[int]
    commands: list[Command] = field(default_factory=list)
    _failure: BaseException | None = None

    @contextlib.contextmanager
    def installed(self, functions: Any) -> Iterator[None]:
        """Record what is given through the functions of a `struct xtc_program` inside the block.

        What a handler of signals raises meanwhile is raised at the block's end.
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
            except BaseException as error:  # no exception passes through the program's code
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
        """The seconds that the device's model counted so far; None without such a model.

        Of several, each a bound that the time is not below, the longest.
        """
        device = self.devices[name]
        if not device.is_modelled:
            return None
        with contextlib.suppress(XtcError):  # the program's own wait raises what the device lost
            figures = device.modelled_figures().items()
            return max(
                (value for figure, value in figures if figure.endswith("SECONDS")), default=None
            )
        return None

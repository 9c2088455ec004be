# SPDX-License-Identifier: Apache-2.0
"""Calls into simulators that signals can interrupt immediately."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Generator
from types import GeneratorType
from typing import TypeVar, cast

Result = TypeVar("Result")

_GRACE_S = 0.2
"""The seconds that a call may continue after its caller was interrupted."""

_wanted = ctypes.c_int32(0)
"""Nonzero while waits in drivers serve signals, for the main thread's current call."""

_call: _Call | None = None
"""The main thread's current call."""


class _Call:
    """A call that waits for a simulator, and the exception that a signal handler raised in it."""

    __slots__ = ("_limit", "_stop", "_stopping", "raised")

    def __init__(self, stop: Callable[[], None]) -> None:
        self.raised: BaseException | None = None
        self._stop = stop
        self._limit = 0.0
        self._stopping: threading.Thread | None = None

    def interrupt(self, error: BaseException) -> None:
        """Ask the call to end within its grace period, or at once the second time."""
        self._limit = 0.0 if self.raised else time.monotonic() + _GRACE_S
        self.raised = self.raised or error

    def stop_when_due(self) -> None:
        """Stop a call after its grace period, from another thread."""
        if self.raised and not self._stopping and time.monotonic() > self._limit:
            self._stopping = threading.Thread(target=self._stop, name="end of a call")
            self._stopping.start()

    def join(self) -> None:
        """Wait for a stop that has begun."""
        if self._stopping:
            self._stopping.join()


def _served() -> Generator[None]:
    """Each step serves the pending signals.

    Python runs their handlers when it resumes the generator, inside the `try`. A function would
    lose the handlers' exceptions before its first instruction.
    """
    while True:
        try:
            try:
                yield
                if _call:
                    _call.stop_when_due()
            except GeneratorExit:
                return
            except BaseException as error:
                if _call:
                    _call.interrupt(error)
        except BaseException as another:  # of a signal that arrived with the first
            if _call:
                _call.interrupt(another)


_signals = cast("GeneratorType[None, None, None]", _served())
next(_signals)
_serve = ctypes.CFUNCTYPE(None)(_signals.__next__)


def attend(driver: ctypes.CDLL) -> None:
    """Make waits in a driver library serve signals (`csrc/xtc_attend.h`)."""
    driver.xtc_attend_with(ctypes.byref(_wanted), _serve)


def service() -> tuple[int, int]:
    """The addresses of a flag and a function, for long-running machine code in the main thread.

    While the flag, an int32, is not 0, the code calls the function, which has no parameters, about
    every 20 ms.
    """
    return ctypes.addressof(_wanted), ctypes.cast(_serve, ctypes.c_void_p).value or 0


def interruptible(
    call: Callable[..., Result], stop: Callable[[], None], *arguments: object
) -> Result:
    """The result of `call` with these arguments, or its exception.

    Python runs signal handlers in its main thread, between two instructions; while a call in that
    thread waits for a simulator, the wait serves signals. If a handler raises, as Ctrl-C's does,
    `stop` ends a call that outlasts its grace period, before the exception propagates.
    """
    if threading.get_ident() != threading.main_thread().ident:
        return call(*arguments)
    if _signals.gi_running:  # in a handler
        return _without_signals(call, arguments)
    return call(*arguments) if _call else _with_signals(call, _Call(stop), arguments)


def interrupted(error: BaseException) -> None:
    """Ask the current call to end soon if `error` is an interrupt."""
    if _call and not isinstance(error, Exception):
        _call.interrupt(error)


def _with_signals(
    call: Callable[..., Result], under_way: _Call, arguments: tuple[object, ...]
) -> Result:
    global _call
    _call, _wanted.value = under_way, 1
    try:
        result = call(*arguments)
    except Exception:
        if under_way.raised:
            raise under_way.raised from None
        raise
    finally:
        _call, _wanted.value = None, 0
        if under_way.raised:
            under_way.join()
    if under_way.raised:
        raise under_way.raised
    return result


def _without_signals(call: Callable[..., Result], arguments: tuple[object, ...]) -> Result:
    """The result of a call in a signal handler, inside a wait that already serves signals."""
    before, _wanted.value = _wanted.value, 0
    try:
        return call(*arguments)
    finally:
        _wanted.value = before

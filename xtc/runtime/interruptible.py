# SPDX-License-Identifier: Apache-2.0
"""Calls into simulators, which signals interrupt at once."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Generator
from types import GeneratorType
from typing import TypeVar, cast

Result = TypeVar("Result")

_GRACE_S = 0.2
"""How long a call may continue after an interrupt of its caller."""

_wanted = ctypes.c_int32(0)
"""Whether waits of drivers serve signals: that of the main thread's call under way."""

_call: _Call | None = None
"""The main thread's call under way."""


class _Call:
    """A call that waits for a simulator, and what a handler of signals raised meanwhile."""

    __slots__ = ("_limit", "_stop", "_stopping", "raised")

    def __init__(self, stop: Callable[[], None]) -> None:
        self.raised: BaseException | None = None
        self._stop = stop
        self._limit = 0.0
        self._stopping: threading.Thread | None = None

    def interrupt(self, error: BaseException) -> None:
        """The call is to end soon; where it already was, it is to end now."""
        self._limit = 0.0 if self.raised else time.monotonic() + _GRACE_S
        self.raised = self.raised or error

    def stop_when_due(self) -> None:
        """Stop a call that continues after its grace period, from another thread."""
        if self.raised and not self._stopping and time.monotonic() > self._limit:
            self._stopping = threading.Thread(target=self._stop, name="end of a call")
            self._stopping.start()

    def join(self) -> None:
        """Wait until the call is stopped, where that has begun."""
        if self._stopping:
            self._stopping.join()


def _served() -> Generator[None]:
    """Each step serves the signals that have come.

    Python runs their handlers when it resumes the generator, which is inside the `try`: in a
    function, their exceptions would be lost before its first instruction.
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
        except BaseException as another:  # of a signal that came with the first
            if _call:
                _call.interrupt(another)


_signals = cast("GeneratorType[None, None, None]", _served())
next(_signals)
_serve = ctypes.CFUNCTYPE(None)(_signals.__next__)


def attend(driver: ctypes.CDLL) -> None:
    """Let the waits in a driver's library serve signals (`csrc/xtc_attend.h`)."""
    driver.xtc_attend_with(ctypes.byref(_wanted), _serve)


def service() -> tuple[int, int]:
    """For machine code of the main thread that runs long: the addresses of a flag and a function.

    While the flag, an int32, is not 0, the code calls the function, which takes nothing, about
    every 20 ms.
    """
    return ctypes.addressof(_wanted), ctypes.cast(_serve, ctypes.c_void_p).value or 0


def interruptible(
    call: Callable[..., Result], stop: Callable[[], None], *arguments: object
) -> Result:
    """The result of `call` on these arguments, or its exception.

    Python runs handlers of signals on its main thread, between two instructions; while a call of
    that thread waits for a simulator, the wait serves them. If a handler raises, like Ctrl-C's,
    `stop` ends a call that does not soon end by itself, before the exception propagates.
    """
    if threading.get_ident() != threading.main_thread().ident:
        return call(*arguments)
    if _signals.gi_running:  # in a handler
        return _without_signals(call, arguments)
    return call(*arguments) if _call else _with_signals(call, _Call(stop), arguments)


def interrupted(error: BaseException) -> None:
    """Where `error` interrupts the call under way, which still has to wait: it is to end soon."""
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
    """The result of a handler's call: it runs inside of a wait that serves signals already."""
    before, _wanted.value = _wanted.value, 0
    try:
        return call(*arguments)
    finally:
        _wanted.value = before

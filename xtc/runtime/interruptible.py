# SPDX-License-Identifier: Apache-2.0
"""Calls into simulators, which signals interrupt at once."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotDone
from functools import partial
from queue import SimpleQueue
from typing import TypeVar

Result = TypeVar("Result")

_GRACE_S = 0.2
"""How long a call may go on by itself once the caller has been interrupted."""


class _Worker:
    """A thread that makes call after call: most take less time than starting a thread does."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[Callable[[], None]] = SimpleQueue()
        threading.Thread(target=self._work, daemon=True, name="simulator calls").start()

    def make(self, call: Callable[[], None]) -> None:
        """Let the thread make a call; afterwards it is idle."""
        self._calls.put(call)

    def _work(self) -> None:
        while True:
            self._calls.get()()
            _idle.append(self)


_idle: list[_Worker] = []
os.register_at_fork(after_in_child=_idle.clear)  # a child has no thread but its own


def interruptible(call: Callable[[], Result], stop: Callable[[], None]) -> Result:
    """The result of `call`, or its exception.

    Python runs handlers of signals on its main thread, between two instructions: there the call is
    made on another thread while this one waits. Where a handler raises, as that of Ctrl-C does,
    `stop` makes a call end that does not soon end by itself, before the exception goes on.
    """
    if threading.current_thread() is not threading.main_thread():
        return call()
    done: Future[Result] = Future()
    try:
        worker = _idle.pop() if _idle else _Worker()
        worker.make(partial(_fulfil, done, call))
        return done.result()
    except BaseException:
        if not done.cancel() and not done.done():  # it has begun
            _end(done, stop)
        raise


def _fulfil(done: Future[Result], call: Callable[[], Result]) -> None:
    if not done.set_running_or_notify_cancel():
        return
    try:
        done.set_result(call())
    except BaseException as error:
        done.set_exception(error)


def _end(done: Future[Result], stop: Callable[[], None]) -> None:
    with contextlib.suppress(NotDone):
        done.exception(_GRACE_S)
        return
    stop()
    done.exception()

# SPDX-License-Identifier: Apache-2.0
"""Calls into simulators, which signals interrupt at once."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotDone
from typing import TypeVar

Result = TypeVar("Result")

_GRACE_S = 0.2
"""How long a call may go on by itself once the caller has been interrupted."""


def interruptible(call: Callable[[], Result], stop: Callable[[], None]) -> Result:
    """The result of `call`, or its exception.

    Python runs handlers of signals on its main thread, between two instructions: there the call is
    made on another thread while this one waits. Where a handler raises, as that of Ctrl-C does,
    `stop` makes a call end that does not soon end by itself, before the exception goes on.
    """
    if threading.current_thread() is not threading.main_thread():
        return call()
    done: Future[Result] = Future()
    worker = threading.Thread(target=_fulfil, args=(done, call), daemon=True)
    try:
        worker.start()
        return done.result()
    except BaseException:
        if worker.ident is not None and not done.done():
            _end(done, stop)
        raise


def _fulfil(done: Future[Result], call: Callable[[], Result]) -> None:
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

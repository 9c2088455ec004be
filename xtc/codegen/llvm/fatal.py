# SPDX-License-Identifier: Apache-2.0
"""Turns LLVM's fatal errors into exceptions.

Some IR that verifies has no machine code (an intrinsic that the processor lacks, a scalable vector
without scalable registers). LLVM then calls its fatal error handler and, if that returns, aborts
the process. Therefore LLVM runs on a separate thread, whose handler passes the reason to the
waiting caller and never returns: the thread sleeps, with its LLVM objects, for the rest of the
process. A failed assertion in LLVM still aborts the process.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any, TypeVar

from xtc.codegen.llvm.capi import FATAL_ERROR_HANDLER, llvm
from xtc.core.errors import CompileError

T = TypeVar("T")

_running: dict[int, tuple[Future[Any], str]] = {}  # by thread identity
_install_lock = threading.Lock()


def guarded(function: Callable[[], T], what: str) -> T:
    """The result of `function`, which may call LLVM; propagates its exceptions.

    Raises:
        CompileError: a fatal error of LLVM; `what` describes the code in the message.
    """
    with _install_lock:
        _install()
    future: Future[T] = Future()
    thread = threading.Thread(target=_run, args=(function, what, future), name="LLVM", daemon=True)
    try:
        thread.start()
        result = future.result()
    finally:
        if not future.cancel():
            wait([future])  # after an interrupt, LLVM must not run on in the background
    thread.join()  # no thread of ours remains when the call returns
    return result


def _run(function: Callable[[], T], what: str, future: Future[T]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    identity = threading.get_ident()
    _running[identity] = future, what
    try:
        result = function()
    except BaseException as error:
        del _running[identity]
        future.set_exception(error)
    else:
        del _running[identity]
        future.set_result(result)


def _on_fatal_error(reason: bytes) -> None:
    text = reason.decode(errors="replace")
    identity = threading.get_ident()
    if identity not in _running:  # for another user of LLVM, act as if there were no handler
        sys.stderr.write(f"LLVM ERROR: {text}\n")
        sys.stderr.flush()
        return
    future, what = _running[identity]
    future.set_exception(CompileError(f"LLVM cannot generate code for {what}", notes=[text]))
    while True:
        threading.Event().wait()


_HANDLER = FATAL_ERROR_HANDLER(_on_fatal_error)


@functools.lru_cache(maxsize=1)
def _install() -> None:
    llvm().LLVMResetFatalErrorHandler()
    llvm().LLVMInstallFatalErrorHandler(_HANDLER)

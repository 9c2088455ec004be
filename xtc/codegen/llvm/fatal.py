# SPDX-License-Identifier: Apache-2.0
"""LLVM's fatal errors as exceptions.

Some IR that verifies has no machine code (an intrinsic that the processor lacks, a scalable vector
without scalable registers). LLVM then calls its fatal error handler and, should that return, ends
the process. So LLVM runs on a separate thread, and a handler that is called there hands the
reason to the waiting caller and never returns: the thread and its LLVM objects stay, asleep, for
the rest of the process. What LLVM merely asserts still ends the process.
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

_running: dict[int, tuple[Future[Any], str]] = {}  # by the identity of the thread
_install_lock = threading.Lock()


def guarded(function: Callable[[], T], what: str) -> T:
    """The result of `function`, which may call LLVM; its exceptions are passed on.

    Raises:
        CompileError: LLVM gave up; `what` names what it was working on.
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
            wait([future])  # an interrupt must not leave LLVM at work behind the caller's back
    thread.join()  # who counts the process's threads finds none of ours
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
    if identity not in _running:  # another user of LLVM: what happens without a handler
        sys.stderr.write(f"LLVM ERROR: {text}\n")
        sys.stderr.flush()
        return
    future, what = _running[identity]
    future.set_exception(CompileError(f"LLVM has no machine code for {what}", notes=[text]))
    while True:
        threading.Event().wait()


_HANDLER = FATAL_ERROR_HANDLER(_on_fatal_error)


@functools.lru_cache(maxsize=1)
def _install() -> None:
    llvm().LLVMResetFatalErrorHandler()
    llvm().LLVMInstallFatalErrorHandler(_HANDLER)

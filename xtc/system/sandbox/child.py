# SPDX-License-Identifier: Apache-2.0
"""Runs a function in a forked child process with limits; a crash becomes an exception.

A fork copies only the calling thread, but also locks held by other threads. Therefore this is for
single-threaded processes: commands before they start threads, and the servers of
`xtc.system.sandbox.server`. Pools that handle forks, such as OpenBLAS', are safe.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import selectors
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NoReturn

from xtc.core.errors import ChildDied, ChildTimeout, CompileError
from xtc.system.sandbox.limits import Limits
from xtc.system.sandbox.reply import MemoryLimitError, decode, encode_error, encode_result
from xtc.system.tool import ending_of

MAX_REPLY = 1 << 30
_CHUNK = 1 << 16
_TAIL = 4096
_GRACE = 5.0  # seconds after its limit until a child is killed
_NO_MEMORY = ("out of memory", "bad_alloc", "Cannot allocate memory")


def run_in_child(work: Callable[[], str], limits: Limits, *, what: str, echo: bool = False) -> str:
    """The result of `work`, run in a child process; its changes to memory are lost.

    Args:
        work: the function; it may write to standard error, not to standard output.
        limits: its time and memory limits.
        what: the subject of errors, such as "running passes on f.mlir".
        echo: forward the child's standard error; otherwise errors quote its end.

    Raises:
        ChildDied: it crashed or exceeded its memory limit; ChildTimeout: it exceeded its time
            limit.
        XtcError: raised by `work`. Other exceptions become a CompileError.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    reply, said = os.pipe(), os.pipe()
    try:
        pid = os.fork()
        if pid == 0:
            _run_as_child(work, limits, reply[1], said[1])
    except OSError as error:
        for descriptor in (*reply, *said):
            os.close(descriptor)
        raise CompileError(f"{what} cannot begin: no new process", notes=[str(error)]) from None
    os.close(reply[1])
    os.close(said[1])
    heard = _Output(echo)
    try:
        heard.listen(reply[0], said[0], time.monotonic() + limits.seconds + _GRACE)
    finally:
        os.close(reply[0])
        os.close(said[0])
        end = _end(pid, killed=not heard.complete)
    return _outcome(heard, end, limits, what)


def _run_as_child(work: Callable[[], str], limits: Limits, reply: int, said: int) -> NoReturn:
    """Runs the child; never returns or raises, so that the parent's exit handlers do not run."""
    code = 1
    try:
        os.dup2(said, 2)
        limits.apply()
        _write_all(reply, _attempt(work))
        sys.stderr.flush()
        code = 0
    finally:
        os._exit(code)


def _attempt(work: Callable[[], str]) -> bytes:
    try:
        return encode_result(work())
    except BaseException as error:
        return encode_error(error)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


@dataclass
class _Output:
    """The output of a child so far."""

    echo: bool
    reply: bytearray = field(default_factory=bytearray)
    tail: str = ""
    complete: bool = False  # the child closed its pipes: it ended, or is about to
    _decoder: codecs.IncrementalDecoder = field(
        default_factory=lambda: codecs.getincrementaldecoder("utf-8")("replace")
    )

    def listen(self, reply: int, said: int, deadline: float) -> None:
        """Read both pipes to their ends, or up to the deadline."""
        with selectors.DefaultSelector() as selector:
            selector.register(reply, selectors.EVENT_READ, self._take_reply)
            selector.register(said, selectors.EVENT_READ, self._take_words)
            while selector.get_map():
                left = deadline - time.monotonic()
                ready = selector.select(left) if left > 0 else []
                if not ready or len(self.reply) > MAX_REPLY:
                    return
                for key, _ in ready:
                    chunk = os.read(key.fd, _CHUNK)
                    key.data(chunk)
                    if not chunk:
                        selector.unregister(key.fd)
        self.complete = True

    def _take_reply(self, chunk: bytes) -> None:
        self.reply += chunk

    def _take_words(self, chunk: bytes) -> None:
        words = self._decoder.decode(chunk, final=not chunk)
        self.tail = (self.tail + words)[-_TAIL:]
        if self.echo and words:
            sys.stderr.write(words)
            sys.stderr.flush()


@dataclass(frozen=True)
class _End:
    """The exit code of a child, as in `subprocess`, and its peak memory use."""

    code: int
    peak_bytes: int


def _end(pid: int, *, killed: bool) -> _End:
    """Wait for a child; kills it first if it is not about to end."""
    if killed:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    _, status, usage = os.wait4(pid, 0)
    unit = 1 if sys.platform == "darwin" else 1024
    return _End(os.waitstatus_to_exitcode(status), usage.ru_maxrss * unit)


def _outcome(heard: _Output, end: _End, limits: Limits, what: str) -> str:
    if len(heard.reply) > MAX_REPLY:
        raise ChildDied(f"{what} returns more than {MAX_REPLY >> 20} MiB of text")
    if end.code == -signal.SIGALRM or not heard.complete:
        how = f"took longer than {limits.seconds:g} s and was ended"
        raise ChildTimeout(f"{what} {how}", notes=_notes(heard, end, limits))
    try:
        if end.code == 0:
            return decode(bytes(heard.reply))
        no_memory = any(words in heard.tail for words in _NO_MEMORY)
    except MemoryLimitError:
        no_memory = True
    how = "ran out of memory" if no_memory else f"crashed: the process {ending_of(end.code)}"
    raise ChildDied(f"{what} {how}", notes=_notes(heard, end, limits))


def _notes(heard: _Output, end: _End, limits: Limits) -> list[str]:
    """Notes on why a child died: the end of its output, and its memory use if it is high."""
    notes = []
    if heard.tail.strip() and not heard.echo:
        notes.append(f"output: {heard.tail.strip()}")
    if end.peak_bytes > limits.memory_bytes // 2:
        used, limit = end.peak_bytes >> 20, limits.memory_bytes >> 20
        notes.append(f"it had {used} MiB of memory in use; the limit is {limit} MiB")
    return notes

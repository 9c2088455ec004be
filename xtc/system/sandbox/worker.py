# SPDX-License-Identifier: Apache-2.0
"""Clients of sandbox servers: start servers on demand and reuse them."""

from __future__ import annotations

import atexit
import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
from typing import IO, cast

from xtc.core.errors import ChildDied
from xtc.system.sandbox.limits import Limits
from xtc.system.sandbox.reply import decode
from xtc.system.sandbox.server import Job, receive, send, write_request

_START = "import sys; sys.path[:] = sys.argv[1:]; from {module} import main; main()"
_GRACE = 60.0  # seconds for the start, and beyond a child's own limit


class _Worker:
    """One server, in a separate process group."""

    def __init__(self, module: str) -> None:
        self._process = subprocess.Popen(  # noqa: S603  this interpreter, on our own module
            [sys.executable, "-c", _START.format(module=module), *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        self._requests = cast(IO[bytes], self._process.stdin)
        self._replies = cast(IO[bytes], self._process.stdout)

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, message: bytes, seconds: float) -> bytes | None:
        """The reply; None if the server ended or does not answer in time."""
        try:
            send(self._requests, message)
        except BrokenPipeError:
            return None
        answer = select.poll()
        answer.register(self._replies, select.POLLIN)
        return receive(self._replies) if answer.poll((seconds + _GRACE) * 1000) else None

    def end(self) -> None:
        """Kill the server and its children."""
        self._close_pipes()
        self.kill()
        self._process.wait()

    def kill(self) -> None:
        """Kill the server and its children; pending requests see its end."""
        if self.alive:
            with contextlib.suppress(ProcessLookupError):  # it ended just now
                os.killpg(self._process.pid, signal.SIGKILL)

    def forget(self) -> None:
        """Forget the server after a fork: it belongs to the parent."""
        self._close_pipes()
        self._process.returncode = 0

    def _close_pipes(self) -> None:
        self._requests.close()
        self._replies.close()


class Workers:
    """A pool of servers that run `main` of a module. Thread-safe.

    Each server handles one request at a time, so the pool grows with the number of concurrent
    requests. Servers end with this process or by `close`, after which a request starts a new one.
    """

    def __init__(self, module: str) -> None:
        self._module = module
        self._idle: list[_Worker] = []
        self._busy: set[_Worker] = set()
        self._lock = threading.Lock()
        atexit.register(self.close)
        os.register_at_fork(after_in_child=self._forget)

    def ask(self, job: Job, limits: Limits, *, what: str) -> str:
        """The result of the server's `work` on `job`, which is plain data.

        `what` is the subject of errors. Raises ChildDied if the work crashed or exceeded a limit;
        errors of the work pass through.
        """
        worker = self._take()
        reply = None
        try:
            reply = worker.ask(write_request(job, limits, what), limits.seconds)
        finally:
            with self._lock:
                self._busy.discard(worker)
                if reply is not None:
                    self._idle.append(worker)
            if reply is None:
                worker.end()
        if reply is None:
            raise ChildDied(f"{what} failed: its process ended")
        return decode(reply)

    def close(self) -> None:
        """Stop idle servers."""
        with self._lock:
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.end()

    def kill(self) -> None:
        """Stop all servers; pending requests raise ChildDied."""
        self.close()
        with self._lock:
            for worker in self._busy:
                worker.kill()

    def _take(self) -> _Worker:
        with self._lock:
            while self._idle:
                worker = self._idle.pop()
                if worker.alive:
                    self._busy.add(worker)
                    return worker
                worker.end()
            worker = _Worker(self._module)
            self._busy.add(worker)
            return worker

    def _forget(self) -> None:
        self._lock = threading.Lock()
        for worker in (*self._idle, *self._busy):
            worker.forget()
        self._idle, self._busy = [], set()

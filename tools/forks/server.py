# SPDX-License-Identifier: Apache-2.0
"""A process that has imported packages, and forks a child for each command it is asked to run.

Usage: python -m tools.forks.server DESCRIPTOR PACKAGE ...

A fork takes some milliseconds, a new interpreter most of a second. The process has one thread, so
its children inherit no lock. It ends, and kills what still runs, once the other end of the socket
is closed: when the process that started it ends, however it does.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import pkgutil
import selectors
import signal
import socket
import sys
from collections.abc import Sequence

from tools.forks.command import Command, Ending, become
from tools.forks.messages import receive_request, write_number


def main() -> None:
    """Serve; in a child, run its command, after which the interpreter ends as after any program."""
    descriptor, *packages = sys.argv[1:]
    ending = Ending()
    for package in packages:
        _import_all(package)
    gc.collect()
    gc.freeze()  # a child that looked through what it shares would copy it
    with _Server(socket.socket(fileno=int(descriptor))) as server:
        command = server.serve()
    if command is not None:
        with ending:
            become(command)


def _import_all(package: str) -> None:
    """Import a package and its public modules, which import the others.

    What fails will fail again, and be seen, in the command that needs it.
    """
    with contextlib.suppress(Exception):
        for info in pkgutil.iter_modules(importlib.import_module(package).__path__):
            if info.ispkg:
                _import_all(f"{package}.{info.name}")
            elif not info.name.startswith("_"):
                with contextlib.suppress(Exception):
                    importlib.import_module(f"{package}.{info.name}")


class _Server(contextlib.ExitStack):
    """The client's requests, and the children that run."""

    def __init__(self, requests: socket.socket) -> None:
        super().__init__()
        self._requests = self.enter_context(requests)
        self._events = self.enter_context(selectors.DefaultSelector())
        self._status: dict[int, int] = {}  # by process: the pipe on which its end is told
        self._interrupted = signal.signal(signal.SIGINT, signal.SIG_IGN)
        ended, wakeup = os.pipe()
        for pipe in (ended, wakeup):
            os.set_blocking(pipe, False)
            self.callback(os.close, pipe)
        self._ended = ended
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wakeup)
        self.callback(signal.set_wakeup_fd, -1)
        self._events.register(requests, selectors.EVENT_READ)
        self._events.register(ended, selectors.EVENT_READ)

    def serve(self) -> Command | None:
        """Fork for each request: in a child, its command; None where the client is gone."""
        while True:
            ready = {key.fd for key, _ in self._events.select()}
            if self._ended in ready:
                self._tell_ends()
            if self._requests.fileno() in ready:
                request = receive_request(self._requests)
                if request is None:
                    self._kill_all()
                    return None
                if self._fork(*request):
                    return request[0]

    def _fork(self, command: Command, descriptors: Sequence[int]) -> bool:
        """Whether this is the child, which has its standard streams then."""
        *streams, status = descriptors
        process = os.fork()
        if process == 0:
            os.setpgid(0, 0)
            self._be_child(streams)
        else:
            with contextlib.suppress(OSError):
                os.setpgid(process, process)  # whoever comes first
            self._status[process] = status
            write_number(status, process)
        for stream in streams:
            os.close(stream)
        if process == 0:
            os.close(status)
        return process == 0

    def _be_child(self, streams: Sequence[int]) -> None:
        for standard, stream in enumerate(streams):
            os.dup2(stream, standard)
        for pipe in self._status.values():
            os.close(pipe)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, self._interrupted)

    def _tell_ends(self) -> None:
        """Reap the children that have ended."""
        os.read(self._ended, 1 << 16)
        for process in list(self._status):
            found, status = os.waitpid(process, os.WNOHANG)
            if found:
                pipe = self._status.pop(process)
                write_number(pipe, os.waitstatus_to_exitcode(status))
                os.close(pipe)

    def _kill_all(self) -> None:
        """End what runs, and what that started in its process group."""
        for process in self._status:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process, signal.SIGKILL)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""A process that has imported packages, and forks a child for each requested command.

Usage: python -m tools.forks.server DESCRIPTOR PACKAGE ... -PACKAGE ...

Packages with a minus are omitted, because they would make forks slow.

A fork takes some milliseconds, a new interpreter most of a second. The process has one thread, so
its children inherit no lock. It ends, and kills running children, when the other end of the socket
is closed, which happens whenever the process that started it ends.
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
from collections.abc import Sequence, Set
from typing import Any

from tools.forks.command import Command, Ending, become
from tools.forks.messages import receive_request, write_number


def main() -> None:
    """Serve requests; in a child, run its command, after which the interpreter ends as usual."""
    descriptor, *packages = sys.argv[1:]
    ending = Ending()
    import_all(packages)
    gc.collect()
    gc.freeze()  # garbage collection in a child would copy the shared pages
    with _Server(socket.socket(fileno=int(descriptor))) as server:
        command = server.serve()
    if command is not None:
        with ending:
            become(command)


def import_all(packages: Sequence[str]) -> None:
    """Import packages and their public modules, which import the others, except those with a minus.

    A failing import fails again, visibly, in the command that needs it.
    """
    without = {name[1:] for name in packages if name.startswith("-")}
    for package in packages:
        if not package.startswith("-"):
            _import(package, without)


def _import(package: str, without: Set[str]) -> None:
    if package in without:
        return
    with contextlib.suppress(Exception):
        for info in pkgutil.iter_modules(importlib.import_module(package).__path__):
            if info.ispkg:
                _import(f"{package}.{info.name}", without)
            elif not info.name.startswith("_"):
                with contextlib.suppress(Exception):
                    importlib.import_module(f"{package}.{info.name}")


class _Server(contextlib.ExitStack):
    """The client's requests and the running children; closing it restores the process."""

    def __init__(self, requests: socket.socket) -> None:
        super().__init__()
        self._requests = self.enter_context(requests)
        self._events = self.enter_context(selectors.DefaultSelector())
        self._status: dict[int, int] = {}  # by process: the pipe for its exit status
        self._ended, wakeup = os.pipe()
        for pipe in (self._ended, wakeup):
            os.set_blocking(pipe, False)
            self.callback(os.close, pipe)
        self._handle(signal.SIGINT, signal.SIG_IGN)  # the client decides what an interrupt ends
        self._handle(signal.SIGCHLD, lambda *_: None)  # otherwise no wake-up byte comes
        self.callback(signal.set_wakeup_fd, signal.set_wakeup_fd(wakeup))
        self._events.register(requests, selectors.EVENT_READ)
        self._events.register(self._ended, selectors.EVENT_READ)

    def _handle(self, number: signal.Signals, handler: Any) -> None:
        self.callback(signal.signal, number, signal.signal(number, handler))

    def serve(self) -> Command | None:
        """Fork for each request; returns the command in a child, None if the client has ended."""
        while True:
            ready = {key.fd for key, _ in self._events.select()}
            if self._ended in ready:
                self._tell_ends()
            if self._requests.fileno() in ready:
                request = receive_request(self._requests)
                if request is None:
                    self._kill_all()
                    return None
                if self._is_child_for(*request):
                    return request[0]

    def _is_child_for(self, _: Command, descriptors: Sequence[int]) -> bool:
        """Fork; the child keeps its standard streams and none of the other descriptors."""
        *streams, status = descriptors
        process = os.fork()
        if process == 0:
            for standard, stream in enumerate(streams):
                os.dup2(stream, standard)
            for pipe in (status, *self._status.values()):
                os.close(pipe)
        else:
            self._status[process] = status
            write_number(status, process)
        for stream in streams:
            os.close(stream)
        return process == 0

    def _tell_ends(self) -> None:
        """Reap ended children."""
        os.read(self._ended, 1 << 16)
        for process in list(self._status):
            found, status = os.waitpid(process, os.WNOHANG)
            if found:
                pipe = self._status.pop(process)
                write_number(pipe, os.waitstatus_to_exitcode(status))
                os.close(pipe)

    def _kill_all(self) -> None:
        """End running children with their processes, as lit does at a time limit."""
        from lit.util import killProcessAndChildren

        for process in self._status:
            killProcessAndChildren(process)


if __name__ == "__main__":
    main()

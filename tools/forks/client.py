# SPDX-License-Identifier: Apache-2.0
"""Starts commands in processes of a fork server, with the interface of `subprocess`."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

from tools.forks.command import Command
from tools.forks.messages import read_number, send_request

_ROOT = Path(__file__).parents[2]


class ForkServer:
    """A private fork server, started with the first command; it ends with this process."""

    def __init__(self, packages: Sequence[str], environment: Set[tuple[str, str]]) -> None:
        self.environment = environment
        self._packages = packages
        self._channel: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, command: Command, descriptors: Sequence[int]) -> None:
        """Start a command. Raises OSError if the server has ended."""
        if self._channel is None or self._process is None or self._process.poll() is not None:
            self.close()
            self._channel = self._start()
        send_request(self._channel, command, descriptors)

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        module = "tools.forks.server"
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603
                [sys.executable, "-m", module, str(theirs.fileno()), *self._packages],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                cwd=_ROOT,
                env=dict(self.environment),
            )
        return ours

    def close(self) -> None:
        """End the server and all running commands."""
        if self._channel is not None and self._process is not None:
            self._channel.close()
            self._process.wait()
            self._channel = self._process = None


class ForkedProcess:
    """The part of `subprocess.Popen` that lit uses, for a process of a fork server."""

    def __init__(
        self,
        server: ForkServer,
        command: Command,
        *,
        stdin: int | IO[str],
        stdout: int | IO[str],
        stderr: int | IO[str],
    ) -> None:
        self.returncode: int | None = None
        with contextlib.ExitStack() as ends:
            self.stdin, read = _input(stdin, ends)
            self.stdout, write = _output(stdout, ends)
            self.stderr, error = (
                (None, write) if stderr == subprocess.STDOUT else _output(stderr, ends)
            )
            told, status = os.pipe()
            self._status = os.fdopen(told, "rb", buffering=0)
            ends.callback(os.close, status)
            server.ask(command, (read, write, error, status))
        self.pid = read_number(self._status)

    def wait(self) -> int:
        """The exit code, or a signal's negative number. Raises EOFError if the server died."""
        if self.returncode is None:
            with self._status:
                self.returncode = read_number(self._status)
        return self.returncode

    def communicate(self) -> tuple[str | None, str | None]:
        """Wait for the command; returns the output in the pipes."""
        with ThreadPoolExecutor(2) as readers:
            texts = readers.map(lambda pipe: pipe and pipe.read(), (self.stdout, self.stderr))
        self.wait()
        output, messages = texts
        return output, messages


def _input(stdin: int | IO[str], ends: contextlib.ExitStack) -> tuple[IO[str] | None, int]:
    """This end of a pipe, if one was requested, and the command's descriptor."""
    if stdin != subprocess.PIPE:
        return None, _descriptor(stdin)
    read, write = os.pipe()
    ends.callback(os.close, read)
    return os.fdopen(write, "w", encoding="utf-8"), read


def _output(stream: int | IO[str], ends: contextlib.ExitStack) -> tuple[IO[str] | None, int]:
    if stream != subprocess.PIPE:
        return None, _descriptor(stream)
    read, write = os.pipe()
    ends.callback(os.close, write)
    return os.fdopen(read, encoding="utf-8", errors="replace"), write


def _descriptor(stream: int | IO[str]) -> int:
    return stream if isinstance(stream, int) else stream.fileno()

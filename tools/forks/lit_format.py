# SPDX-License-Identifier: Apache-2.0
"""A lit test format whose Python commands run in forks of a prepared process."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any

import lit.formats
import lit.TestRunner

from tools.forks.client import ForkedProcess, ForkServer
from tools.forks.command import Command, can_run

# A command in a different environment may load other code, so a new interpreter runs it. These
# variables do not matter, because they are read on use.
_READ_AT_USE = ("XTC_", "XDG_", "LIT_", "TMPDIR", "PATH")


class ForkingTest(lit.formats.ShTest):  # type: ignore[misc]
    """`ShTest` in which `python ARGUMENTS` is a fork; other commands are processes as usual.

    The commands find `packages` imported; otherwise they behave as in a new interpreter.
    """

    def __init__(self, packages: Sequence[str]) -> None:
        super().__init__(execute_external=False)
        self.packages = tuple(packages)

    def execute(self, test: Any, lit_config: Any) -> Any:
        starter = _Starter(_server(self.packages, _at_start(test.config.environment)))
        lit.TestRunner.subprocess = SimpleNamespace(**{**vars(subprocess), "Popen": starter.start})
        try:
            return super().execute(test, lit_config)
        finally:
            lit.TestRunner.subprocess = subprocess


class _Starter:
    """Replaces `subprocess.Popen` in lit's shell."""

    def __init__(self, server: ForkServer) -> None:
        self._server = server

    def start(
        self, arguments: Sequence[str], **options: Any
    ) -> ForkedProcess | subprocess.Popen[str]:
        environment = dict(options["env"])
        if not self._forks(arguments, environment):
            return subprocess.Popen(arguments, **options)  # noqa: S603
        folder, umask = options["cwd"], _umask()
        command = Command(list(arguments[1:]), environment, folder, umask)
        streams = {name: options[name] for name in ("stdin", "stdout", "stderr")}
        return ForkedProcess(self._server, command, **streams)

    def _forks(self, arguments: Sequence[str], environment: Mapping[str, str]) -> bool:
        return (
            arguments[0] == sys.executable
            and can_run(arguments[1:])
            and _at_start(environment) == self._server.environment
        )


@cache
def _server(packages: tuple[str, ...], environment: frozenset[tuple[str, str]]) -> ForkServer:
    """The client that all tests of this process with the same configuration share."""
    _end_with_lit()
    return ForkServer(packages, environment)


@cache
def _end_with_lit() -> None:
    """End this worker of lit, and its servers, when lit is killed."""
    parent = multiprocessing.parent_process()

    def wait() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def _at_start(environment: Mapping[str, str]) -> frozenset[tuple[str, str]]:
    """The variables that an interpreter, or its imports, may read at start-up."""
    return frozenset(
        (name, value) for name, value in environment.items() if not name.startswith(_READ_AT_USE)
    )


def _umask() -> int:
    umask = os.umask(0)
    os.umask(umask)
    return umask

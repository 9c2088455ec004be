# SPDX-License-Identifier: Apache-2.0
"""A library on a number of threads, started on first use and restarted after a crash."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.peers.libraries import Library
from benchmarks.peers.worker import Worker, WorkerFailed, WorkerLost

HELLO_SECONDS = 60.0
_MOST_LOSSES = 3


class Unavailable(Exception):  # noqa: N818  an answer
    """The reason why a candidate does not take part, in a workload or at all."""


class Candidate:
    """A library on a number of threads, and its process.

    Attributes:
        library: the library.
        threads: the number of threads.
        versions: versions of the installed packages, known once it is started.
    """

    def __init__(self, library: Library, threads: int, start: Callable[[], Worker]) -> None:
        """`start` starts its process, or raises Unavailable."""
        self.library = library
        self.threads = threads
        self.versions: Mapping[str, str] = {}
        self._start = start
        self._worker: Worker | None = None
        self._refusal: str | None = None
        self._losses = 0

    def ask(self, request: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """The worker's answer. Raises Unavailable; the next request restarts a lost process."""
        worker = self._running()
        try:
            return worker.ask(request, seconds)
        except WorkerFailed as failure:
            raise Unavailable(str(failure)) from failure
        except WorkerLost as loss:
            self._worker = None
            self._losses += 1
            if self._losses >= _MOST_LOSSES:
                self._refusal = f"lost {self._losses} times, the last one: {loss}"
            raise Unavailable(str(loss)) from loss

    def _running(self) -> Worker:
        if self._refusal is not None:
            raise Unavailable(self._refusal)
        if self._worker is None:
            self._worker = self._greeted()
        return self._worker

    def _greeted(self) -> Worker:
        """A new process that has imported its library."""
        try:
            worker = self._start()
            hello = {"do": "hello", "distributions": self.library.distributions}
            self.versions = worker.ask(hello, HELLO_SECONDS)["versions"]
        except Unavailable as why:
            self._refusal = str(why)
            raise
        except WorkerFailed as failure:
            worker.close()
            self._refusal = f"cannot be imported: {failure}"
            raise Unavailable(self._refusal) from failure
        except WorkerLost as loss:
            self._refusal = f"cannot be started: {loss}"
            raise Unavailable(self._refusal) from loss
        return worker

    def drop(self) -> None:
        """Drop its workload; starts nothing."""
        if self._worker is not None:
            try:
                self.ask({"do": "drop"}, HELLO_SECONDS)
            except Unavailable:
                return

    def close(self) -> None:
        """End its process; a later request restarts it."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None

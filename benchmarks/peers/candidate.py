# SPDX-License-Identifier: Apache-2.0
"""A library on a number of threads: started when it is first asked, again when it was lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.peers.libraries import Library
from benchmarks.peers.worker import Worker, WorkerFailed, WorkerLost

HELLO_SECONDS = 60.0
_MOST_LOSSES = 3


class Unavailable(Exception):  # noqa: N818  an answer
    """A candidate does not take part, in a workload or at all; says why."""


class Candidate:
    """What one row of the table is measured by.

    Attributes:
        library: which.
        threads: on how many.
        versions: of what is installed, known once it was started.
    """

    def __init__(self, library: Library, threads: int, start: Callable[[], Worker]) -> None:
        """`start` makes its process; raises Unavailable where that can not be."""
        self.library = library
        self.threads = threads
        self.versions: Mapping[str, str] = {}
        self._start = start
        self._worker: Worker | None = None
        self._refusal: str | None = None
        self._losses = 0

    def ask(self, request: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """The worker's answer. Raises Unavailable; what was lost is started anew the next time."""
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
        """A new process whose library could be imported."""
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
        """Let it forget its workload; starts nothing."""
        if self._worker is not None:
            try:
                self.ask({"do": "drop"}, HELLO_SECONDS)
            except Unavailable:
                return

    def close(self) -> None:
        """End its process; it can be asked again."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None

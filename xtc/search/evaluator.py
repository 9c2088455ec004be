# SPDX-License-Identifier: Apache-2.0
"""Where candidates are measured: several are compiled at the same time, one is measured."""

from __future__ import annotations

import queue
from abc import abstractmethod
from concurrent.futures import ThreadPoolExecutor

from xtc.core.closing import Closing
from xtc.search.candidate import Candidate, CandidateRunner, Compiled, Outcome
from xtc.search.gate import Gate

_AHEAD = 2  # compiled candidates that wait to be measured


class Evaluator(Closing):
    """Takes candidates and gives back their outcomes, in any order; a context manager.

    Attributes:
        capacity: how many candidates it can make use of at the same time.
        best: the best time so far in seconds, which slower ones need not be measured well against.
    """

    capacity: int
    best: float | None = None

    @abstractmethod
    def submit(self, candidate: Candidate) -> None:
        """Begin with a candidate."""

    @abstractmethod
    def next(self, seconds: float) -> Outcome | None:
        """An outcome that was not given back yet, None if there is none within the time."""

    @abstractmethod
    def close(self) -> None:
        """Give up what is under way and end what was started."""


class LocalEvaluator(Evaluator):
    """Compiles in `jobs` processes of this machine, and measures in one more."""

    def __init__(self, candidates: CandidateRunner, jobs: int, *, exclusive: bool = False) -> None:
        """`exclusive`: nothing is compiled while something is measured, as for parallel code."""
        self.capacity = jobs + _AHEAD
        self._candidates = candidates
        self._gate = Gate(exclusive=exclusive)
        self._compilers = ThreadPoolExecutor(jobs, "compile")
        self._runner = ThreadPoolExecutor(1, "measure")
        self._outcomes: queue.SimpleQueue[Outcome | BaseException] = queue.SimpleQueue()
        self._closed = False

    def submit(self, candidate: Candidate) -> None:
        self._compilers.submit(self._compile, candidate)

    def next(self, seconds: float) -> Outcome | None:
        try:
            found = self._outcomes.get(timeout=max(seconds, 0.0))
        except queue.Empty:
            return None
        if isinstance(found, BaseException):
            raise found
        return found

    def close(self) -> None:
        self._closed = True
        self._gate.open()
        self._compilers.shutdown(wait=False, cancel_futures=True)
        self._runner.shutdown(wait=False, cancel_futures=True)
        self._candidates.close()
        self._compilers.shutdown()
        self._runner.shutdown()
        self._candidates.close()

    def _compile(self, candidate: Candidate) -> None:
        try:
            with self._gate.compiling():
                if self._closed:
                    return
                found = self._candidates.compile(candidate)
                if not isinstance(found, Outcome):
                    self._gate.announce()
            if isinstance(found, Outcome):
                self._outcomes.put(found)
            elif not self._closed:
                self._runner.submit(self._measure, found)
        except BaseException as error:
            self._outcomes.put(error)

    def _measure(self, compiled: Compiled) -> None:
        try:
            with self._gate.measuring():
                if self._closed:
                    return
                outcome = self._candidates.measure(compiled, self.best)
            self._outcomes.put(outcome)
        except BaseException as error:
            self._outcomes.put(error)

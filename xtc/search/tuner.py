# SPDX-License-Identifier: Apache-2.0
"""The search itself: asks a sampler, has candidates measured, keeps every result at once."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from xtc.search.candidate import Candidate, Outcome
from xtc.search.evaluator import Evaluator
from xtc.search.records import Result, Run
from xtc.search.samplers import Sampler
from xtc.search.space import Point
from xtc.search.store import Store

_FINAL_SHARE = 0.1  # of the budget, for measuring the best again
_FINAL_MOST = 5.0  # seconds of it, at most
FINALISTS = 4
FINAL_REPEAT = 20
_WAIT = 0.2  # seconds between two looks at the clock


@dataclass
class Progress:
    """How far a search is.

    Attributes:
        best: the fastest result so far.
        default: the result of the default schedule.
        statuses: how many results of each status.
        seconds: of the run so far.
        compile_seconds: of all compilations together.
        budget: seconds that the search takes from its beginning, or from where it was resumed;
            None if unknown.
    """

    best: Result | None = None
    default: Result | None = None
    statuses: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    compile_seconds: float = 0.0
    budget: float | None = None

    @property
    def failures(self) -> int:
        """Results that are not right."""
        return sum(self.statuses.values()) - self.statuses["ok"]

    def note(self, result: Result) -> None:
        """Count a result."""
        self.statuses[result.status] += 1
        self.seconds = max(self.seconds, result.at)
        self.compile_seconds += result.compile_seconds
        if not result.schedule and self.default is None:
            self.default = result
        if result.seconds is not None and (
            self.best is None or result.seconds < (self.best.seconds or 0.0)
        ):
            self.best = result


class Tuner:
    """One run of a search, from its beginning or from where it was left."""

    def __init__(
        self,
        store: Store,
        run: Run,
        sampler: Sampler,
        evaluator: Evaluator,
        *,
        seconds: float | None,
        trials: int | None,
        report: Callable[[Progress], None] = lambda progress: None,
    ) -> None:
        """A search for `seconds` more, or up to `trials` candidates in all; both end it.

        `report` is called after every result and several times a second.
        """
        self._store, self._run = store, run
        self._sampler, self._evaluator = sampler, evaluator
        self._budget, self._trials = seconds, trials
        self._report = report
        self._pending: dict[str, Candidate] = {}
        self._known: dict[str, float | None] = {}
        self._start = 0.0
        self._before = run.seconds
        self.progress = Progress(budget=seconds)
        self._searched = 0
        self._recall()

    def search(self) -> Progress:
        """Search until the time is over, or nothing is left to be tried."""
        self._start = time.monotonic()
        end = None if self._budget is None else self._start + self._budget
        final = min(_FINAL_MOST, (self._budget or 0.0) * _FINAL_SHARE)
        if self.progress.default is None:
            self._submit(Candidate("", {}))
        self._until(None if end is None else end - final)
        self._drain(end)
        best = self._store.best(self._run.number, FINALISTS)
        self.replay(best, end)
        self._store.finish_run(self._run.number, self._now())
        return self.progress

    def replay(self, results: list[Result], end: float | None = None) -> Progress:
        """Measure results again, one at a time, while there is time; the best of all counts."""
        self._start = self._start or time.monotonic()
        for result in results:
            if end is None or time.monotonic() < end:
                parameters = dict(result.parameters)
                self._submit(Candidate(result.schedule, parameters, "replay", FINAL_REPEAT))
                self._drain(end)
        return self.progress

    def _recall(self) -> None:
        """Learn what the run knows already."""
        for result in self._store.results(self._run.number):
            self._learn(result)
            self._searched += bool(result.kind == "search" and result.parameters)
        self._hand_on_best()

    def _until(self, end: float | None) -> None:
        """Keep the evaluator busy until the time is over or the points are."""
        more = True
        while more or self._pending:
            more = more and (end is None or time.monotonic() < end)
            while more and len(self._pending) < self._evaluator.capacity:
                more = self._submit_next()
            if not self._pending or (end is not None and time.monotonic() >= end):
                return
            self._take(_WAIT)

    def _drain(self, end: float | None) -> None:
        """Wait for what is under way, up to the end."""
        while self._pending and (end is None or time.monotonic() < end):
            self._take(_WAIT)

    def _submit_next(self) -> bool:
        """Begin with another point; False if there is none, or there were enough."""
        if self._trials is not None and self._searched >= self._trials:
            return False
        point = self._new_point()
        if point is None:
            return False
        self._searched += 1
        self._submit(Candidate(self._sampler.space.schedule(point), point))
        return True

    def _new_point(self) -> Point | None:
        """A point with a schedule that was not tried: a few points have the same."""
        while (point := self._sampler.ask()) is not None:
            schedule = self._sampler.space.schedule(point)
            if schedule in self._known:
                self._sampler.tell(point, self._known[schedule])
            elif schedule not in self._pending:
                return point
        return None

    def _submit(self, candidate: Candidate) -> None:
        self._pending[candidate.schedule] = candidate
        self._evaluator.submit(candidate)

    def _take(self, seconds: float) -> None:
        outcome = self._evaluator.next(seconds)
        if outcome is not None:
            self._keep(outcome)
        self.progress.seconds = self._now()
        self._report(self.progress)

    def _keep(self, outcome: Outcome) -> None:
        """Write a result down, then learn from it."""
        candidate = outcome.candidate
        self._pending.pop(candidate.schedule, None)
        result = Result(
            candidate.schedule,
            candidate.parameters,
            outcome.status,
            outcome.message,
            outcome.samples,
            outcome.compile_seconds,
            self._now(),
            outcome.worker,
            candidate.kind,
        )
        result = self._store.add_result(self._run.number, result)
        self._learn(result)
        self._hand_on_best()

    def _learn(self, result: Result) -> None:
        self.progress.note(result)
        if result.kind == "search" and result.parameters:
            self._known[result.schedule] = result.seconds
            self._sampler.tell(dict(result.parameters), result.seconds)

    def _hand_on_best(self) -> None:
        best = self.progress.best
        self._evaluator.best = None if best is None else best.seconds

    def _now(self) -> float:
        return self._before + time.monotonic() - self._start

# SPDX-License-Identifier: Apache-2.0
"""Candidates of a search: each is compiled in a sandboxed child, checked and timed in another.

Every outcome has a status of `xtc.search.records.STATUSES`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from xtc.core.errors import ChildDied, ChildTimeout, UserError, XtcError
from xtc.search.problem import Data, Problem
from xtc.system.sandbox import Limits, Workers


@dataclass(frozen=True)
class Candidate:
    """A candidate to be measured.

    Attributes:
        schedule: its schedule as text; "" for the default schedule.
        parameters: the strategy's parameter values.
        kind: "search" or "replay".
        repeat: the number of samples; None to adapt it.
        attempt: the number of earlier attempts without an answer.
    """

    schedule: str
    parameters: dict[str, int]
    kind: str = "search"
    repeat: int | None = None
    attempt: int = 0


@dataclass(frozen=True)
class Outcome:
    """The outcome of a candidate."""

    candidate: Candidate
    status: str
    message: str = ""
    samples: tuple[float, ...] = ()
    compile_seconds: float = 0.0
    worker: str = ""


@dataclass(frozen=True)
class Compiled:
    """A candidate's code."""

    candidate: Candidate
    code: Data


class CandidateRunner:
    """Compiles and measures candidates of one problem. Thread-safe."""

    def __init__(
        self,
        problem: Problem,
        compile_limits: Limits,
        run_limits: Limits,
        server: str = "xtc.search.worker",
    ) -> None:
        """`server` is the module whose `main` the worker processes run."""
        self._problem = json.dumps(problem.as_dict(), sort_keys=True)
        self._compile_limits, self._run_limits = compile_limits, run_limits
        self._compilers, self._runners = Workers(server), Workers(server)

    def compile(self, candidate: Candidate) -> Compiled | Outcome:
        """The candidate's code, or the outcome if it fails."""
        job = {"do": "compile", "problem": self._problem, "schedule": candidate.schedule}
        try:
            reply = self._compilers.ask(job, self._compile_limits, what="compiling")
        except XtcError as error:
            return _failure(candidate, error)
        return Compiled(candidate, json.loads(reply))

    def measure(self, compiled: Compiled, best: float | None) -> Outcome:
        """The outcome of the candidate's code; `best` is the best time so far, in seconds."""
        candidate = compiled.candidate
        job = {
            "do": "measure",
            "problem": self._problem,
            "compiled": compiled.code,
            "best": best,
            "repeat": candidate.repeat,
        }
        seconds = float(compiled.code["seconds"])
        outcome = Outcome(candidate, "ok", compile_seconds=seconds)
        try:
            reply = json.loads(self._runners.ask(job, self._run_limits, what="running"))
        except XtcError as error:
            return replace(_failure(candidate, error), compile_seconds=seconds)
        if "wrong" in reply:
            return replace(outcome, status="wrong", message=reply["wrong"])
        return replace(outcome, samples=tuple(reply["samples"]))

    def close(self) -> None:
        """Kill the worker processes; pending requests get the outcome of a crash."""
        self._compilers.kill()
        self._runners.kill()


def status_of(error: XtcError) -> tuple[str, str]:
    """The status of a failed candidate, one of STATUSES, and its message."""
    status = next(status for kind, status in _STATUS if isinstance(error, kind))
    notes = "; ".join(error.notes)
    return status, f"{error.what}; {notes}" if notes else error.what


def _failure(candidate: Candidate, error: XtcError) -> Outcome:
    return Outcome(candidate, *status_of(error))


_STATUS: tuple[tuple[type[XtcError], str], ...] = (
    (ChildTimeout, "timeout"),
    (ChildDied, "crashed"),
    (UserError, "refused"),
    (XtcError, "failed"),
)

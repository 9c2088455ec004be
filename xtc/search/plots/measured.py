# SPDX-License-Identifier: Apache-2.0
"""A run and its results for plots, checked because a database may be foreign."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

from xtc.core.errors import UserError
from xtc.search.records import STATUSES, Result, Run
from xtc.search.store import Store

_GIGA = 1e9
_MOST_INTEGER = 2**63
_MOST = 1e24  # the largest value, far from overflow
_SHORTEST = 1e-12  # the shortest call in seconds


@dataclass(frozen=True)
class Measured:
    """A run with its results in order, of which at least one is correct."""

    run: Run
    results: tuple[Result, ...]

    @staticmethod
    def of(store: Store, number: int | None = None) -> Measured:
        """A run by its number; the newest if that is None.

        Raises UserError if it does not exist, has no correct result, or is damaged.
        """
        try:
            run = store.run(number)
            results = store.results(run.number)
            wrong = next(_invalid_values(run, results), None)
        except (AttributeError, TypeError, ValueError) as error:  # values of another type
            wrong = str(error)
        if wrong is not None:
            which = "the newest run" if number is None else f"run {number}"
            raise UserError(f"{which} of {store.path} is damaged: {wrong}")
        if not any(result.seconds for result in results):
            raise _nothing_right(run, results)
        return Measured(run, tuple(results))

    @property
    def correct(self) -> list[tuple[Result, float]]:
        """Correct results, each with its speed."""
        return [(result, self.speed(result.seconds)) for result in self.results if result.seconds]

    @property
    def best(self) -> list[tuple[Result, float]]:
        """The fastest result of each schedule with its speed, the fastest first."""
        fastest: dict[str, tuple[Result, float]] = {}
        for pair in sorted(self.correct, key=lambda pair: -pair[1]):
            fastest.setdefault(pair[0].schedule, pair)
        return list(fastest.values())

    @property
    def default(self) -> float | None:
        """The speed of the default schedule, None if it was not measured."""
        return max((speed for result, speed in self.correct if not result.schedule), default=None)

    @property
    def statuses(self) -> dict[str, int]:
        """The number of results for each status that occurs."""
        counts = Counter(result.status for result in self.results)
        return {status: counts[status] for status in STATUSES if counts[status]}

    @property
    def unit(self) -> str:
        """The unit of speeds: calls per second if operations are not counted."""
        return "GFLOP/s" if self.run.flops else "calls/s"

    def speed(self, seconds: float) -> float:
        """The speed of a call that takes `seconds`."""
        return self.run.flops / seconds / _GIGA if self.run.flops else 1 / seconds

    @property
    def peak(self) -> float | None:
        """The multiply-add peak in `unit`; None if it is unknown."""
        return self.run.peak / _GIGA if self.run.peak and self.run.flops else None


def _nothing_right(run: Run, results: Sequence[Result]) -> UserError:
    counts = Counter(result.status for result in results)
    ended = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    return UserError(
        f"run {run.number} has no correct result",
        notes=[f"its results: {ended or 'none'}"],
        hints=[f"`xtc-tune --run {run.number} --csv FILE` has the causes"],
    )


def _invalid_values(run: Run, results: Sequence[Result]) -> Iterator[str]:
    """Invalid values in a run: of another type, negative, or infinite."""
    for field in fields(Run):
        if field.type == "str" and not isinstance(getattr(run, field.name), str):
            yield f"its {field.name} is not a string"
    if not all(isinstance(version, str) for version in run.versions.values()):
        yield "a version is not a string"
    for name in ("flops", "nbytes", "seconds"):
        if not _is_number(value := getattr(run, name), 0.0):
            yield f"its {name} is {value!r:.40}"
    for name in ("peak", "bandwidth"):
        if (value := getattr(run, name)) is not None and not _is_number(value, 1.0):
            yield f"its {name} is {value!r:.40}"
    for result in results:
        yield from (f"result {result.number} has {what}" for what in _nonsense_of(result))


def _nonsense_of(result: Result) -> Iterator[str]:
    if result.status not in STATUSES:
        yield f"the status {result.status!r:.40}"
    if not all(isinstance(text, str) for text in (result.schedule, result.message, result.worker)):
        yield "a string of another type"
    if not _is_number(result.at, 0.0):
        yield f"the time {result.at!r:.40}"
    if not all(_is_number(value, _SHORTEST) for value in result.samples):
        yield "a sample that is not a time"
    if not all(
        isinstance(value, int) and abs(value) < _MOST_INTEGER
        for value in result.parameters.values()
    ):
        yield "a parameter that is not an integer"


def _is_number(value: Any, least: float) -> bool:
    return isinstance(value, int | float) and least <= value < _MOST

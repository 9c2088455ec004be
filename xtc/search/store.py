# SPDX-License-Identifier: Apache-2.0
"""The tuning database: SQLite in WAL mode, one transaction for each result.

A process that is killed loses the candidate it was at, and nothing that was measured.
"""

from __future__ import annotations

import dataclasses
import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from xtc.core.closing import Closing
from xtc.core.errors import UserError
from xtc.driver.tuned import TuningKey, database_path
from xtc.search.records import Result, Run
from xtc.search.schema import APPLICATION, SCHEMA, UPGRADES, VERSION

Row = TypeVar("Row")

_BUSY_SECONDS = 30.0
_RUN_FIELDS = [field.name for field in dataclasses.fields(Run) if field.name != "number"]
_RESULT_COLUMNS = (
    "number, schedule, parameters, status, message, samples, compile_seconds, at, worker, kind"
)


class Store(Closing):
    """A tuning database; a context manager. One thread at a time may use it."""

    def __init__(self, path: Path | None = None, *, create: bool = True) -> None:
        """Open the database at `path`, the user's own where it is None.

        Raises UserError if there is none and `create` is false, where it cannot be opened, and
        for a file that is something else.
        """
        self.path = path or database_path()
        if not create and not self.path.is_file():
            raise UserError(
                f"there is no tuning database {self.path}", hints=["`xtc-tune` makes it"]
            )
        with self._errors():
            if create:
                self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._base = sqlite3.connect(
                self.path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            try:
                self._prepare()
            except BaseException:
                self._base.close()
                raise

    def add_run(self, run: Run) -> Run:
        """Keep a new run; returns it with its number."""
        values = [_stored(getattr(run, name)) for name in _RUN_FIELDS]
        marks = ", ".join("?" * len(values))
        with self._errors(), self._transaction():
            done = self._base.execute(
                f"INSERT INTO runs ({', '.join(_RUN_FIELDS)}) VALUES ({marks})",  # noqa: S608
                values,
            )
        return dataclasses.replace(run, number=int(done.lastrowid or 0))

    def add_result(self, run: int, result: Result) -> Result:
        """Keep a result at the end of a run, in one transaction; returns it with its number."""
        with self._errors(), self._transaction():
            (number,) = self._base.execute(
                "SELECT coalesce(max(number) + 1, 0) FROM results WHERE run = ?", (run,)
            ).fetchone()
            stored = dataclasses.replace(result, number=number)
            self._base.execute(
                f"INSERT INTO results (run, seconds, {_RESULT_COLUMNS}) "  # noqa: S608
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (run, stored.seconds, *_result_values(stored)),
            )
            self._base.execute(
                "UPDATE runs SET seconds = max(seconds, ?) WHERE number = ?", (stored.at, run)
            )
        return stored

    def finish_run(self, run: int, seconds: float) -> None:
        """Record that a run ended by itself after `seconds`."""
        with self._errors(), self._transaction():
            self._base.execute(
                "UPDATE runs SET finished = 1, seconds = max(seconds, ?) WHERE number = ?",
                (seconds, run),
            )

    def raise_peak(self, run: int, peak: float) -> Run:
        """Let a run have the peak of a later measurement, where that is higher."""
        with self._errors(), self._transaction():
            self._base.execute("UPDATE runs SET peak = max(peak, ?) WHERE number = ?", (peak, run))
        return self.run(run)

    def runs(self) -> list[Run]:
        """Every run, the oldest first."""
        return self._runs("", ())

    def run(self, number: int | None = None) -> Run:
        """A run by its number; the newest where that is None. Raises UserError for none."""
        if number is None:
            found = self._runs("ORDER BY number DESC LIMIT 1", ())
        else:
            found = self._runs("WHERE number = ?", (number,))
        if not found:
            what = "no run" if number is None else f"no run {number}"
            raise UserError(f"{self.path} has {what}", hints=["`xtc-tune --list` names them"])
        return found[0]

    def runs_of(self, key: TuningKey, *, anywhere: bool = False) -> list[Run]:
        """The runs that measured the same thing, on any machine if `anywhere`; the oldest first."""
        where = (
            "WHERE graph = ? AND target = ? AND options = ? AND (machine = ? OR ?) ORDER BY number"
        )
        return self._runs(where, (*dataclasses.astuple(key), anywhere))

    def results(self, run: int) -> list[Result]:
        """The results of a run, in the order in which they came."""
        with self._errors():
            rows = self._base.execute(
                f"SELECT {_RESULT_COLUMNS} FROM results WHERE run = ? ORDER BY number",  # noqa: S608
                (run,),
            ).fetchall()
        return self._read(rows, _result)

    def best(self, run: int, count: int = 1) -> list[Result]:
        """The fastest right results of a run, each schedule once, the fastest first."""
        fastest: dict[str, Result] = {}
        right = [result for result in self.results(run) if result.seconds is not None]
        for result in sorted(right, key=lambda result: result.seconds or 0.0):
            fastest.setdefault(result.schedule, result)
        return list(fastest.values())[:count]

    def close(self) -> None:
        """Close the database; closing twice is allowed."""
        self._base.close()

    def _runs(self, rest: str, values: Sequence[Any]) -> list[Run]:
        with self._errors():
            rows = self._base.execute(
                f"SELECT {', '.join(_RUN_FIELDS)}, number FROM runs {rest}",  # noqa: S608
                values,
            ).fetchall()
        return self._read(rows, _run)

    def _read(
        self, rows: Sequence[Sequence[Any]], read: Callable[[Sequence[Any]], Row]
    ) -> list[Row]:
        """What the rows say. Raises UserError for what this project has not written."""
        try:
            return [read(row) for row in rows]
        except (ValueError, TypeError) as error:
            raise UserError(
                f"the tuning database {self.path} is damaged",
                notes=[str(error)],
                hints=["name another file with --db or XTC_TUNING_DB"],
            ) from None

    def _prepare(self) -> None:
        """Make the tables in an empty database. Raises UserError for a foreign or newer one."""
        self._base.execute("PRAGMA journal_mode = WAL")
        self._base.execute("PRAGMA synchronous = NORMAL")  # a killed process loses nothing
        self._base.execute("PRAGMA foreign_keys = ON")
        with self._transaction():
            (tables,) = self._base.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if not tables:
                for statement in SCHEMA.split(";\n"):
                    self._base.execute(statement)
                self._base.execute(f"PRAGMA application_id = {APPLICATION}")
                self._base.execute(f"PRAGMA user_version = {VERSION}")
            (application,) = self._base.execute("PRAGMA application_id").fetchone()
            (version,) = self._base.execute("PRAGMA user_version").fetchone()
            while application == APPLICATION and version in UPGRADES:
                self._base.execute(UPGRADES[version])
                version += 1
                self._base.execute(f"PRAGMA user_version = {version}")
        if application != APPLICATION:
            raise UserError(f"{self.path} is a database, but not one of schedules")
        if version != VERSION:
            raise UserError(
                f"{self.path} has format {version}; this version of xtc knows {VERSION}",
                hints=["name another file with --db or XTC_TUNING_DB"],
            )

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._base.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._base.execute("ROLLBACK")
            raise
        self._base.execute("COMMIT")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """What SQLite or the file system says, as a UserError about the database."""
        try:
            yield
        except (sqlite3.Error, OSError, OverflowError) as error:
            raise UserError(
                f"cannot use the tuning database {self.path}: {error}",
                hints=["name another file with --db or XTC_TUNING_DB"],
            ) from None


def _stored(value: Any) -> Any:
    return json.dumps(dict(value)) if isinstance(value, dict) else value


def _result_values(result: Result) -> list[Any]:
    return [
        result.number,
        result.schedule,
        json.dumps(dict(result.parameters)),
        result.status,
        result.message,
        json.dumps(list(result.samples)),
        result.compile_seconds,
        result.at,
        result.worker,
        result.kind,
    ]


def _run(row: Sequence[Any]) -> Run:
    values = dict(zip([*_RUN_FIELDS, "number"], row, strict=True))
    values["versions"] = _mapping(values["versions"])
    values["seconds"] = float(values["seconds"])
    values["finished"] = bool(values["finished"])
    return Run(**values)


def _result(row: Sequence[Any]) -> Result:
    values = dict(zip(_RESULT_COLUMNS.split(", "), row, strict=True))
    values["parameters"] = _mapping(values["parameters"])
    values["samples"] = tuple(map(float, json.loads(values["samples"])))
    values["at"] = float(values["at"])
    return Result(**values)


def _mapping(text: str) -> dict[str, Any]:
    """A JSON object. Raises ValueError for other JSON."""
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError(f"{text!r:.40} is not a JSON object")
    return found

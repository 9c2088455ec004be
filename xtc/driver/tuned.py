# SPDX-License-Identifier: Apache-2.0
"""Looks up the best measured schedule for a graph, target, options and machine.

`xtc.search.store` writes the database; this file has the queries that the driver needs.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import platform
import re
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs

from xtc.core import knobs
from xtc.core.errors import UserError
from xtc.graph.graph import Graph
from xtc.interfaces.target import THREADS, ProgramTarget

TUNED = "tuned"
"""The value of `schedule=` for the best schedule found so far."""
_CPUINFO = Path("/proc/cpuinfo")
_NAME = re.compile(r"\Agraph [^(]*")
_BEST = (
    "SELECT schedule FROM tuned WHERE graph = ? AND target = ? AND options = ? AND machine = ? "
    "ORDER BY seconds LIMIT 1"
)
_NEAR = "SELECT DISTINCT target, options, machine FROM tuned WHERE graph = ?"


@dataclass(frozen=True)
class TuningKey:
    """The key of a measured schedule.

    Attributes:
        graph: SHA-256 of the graph's text without its name and without values of constants.
        target: name of the target.
        options: the target's non-default options, as `name=value` words, and its number of
            threads.
        machine: the machine that it was measured on.
    """

    graph: str
    target: str
    options: str
    machine: str

    @staticmethod
    def of(graph: Graph, target: ProgramTarget, options: Any) -> TuningKey:
        """The key of `graph`, which has fixed dimensions, for a target's options here."""
        words = options_text(target, options)
        return TuningKey(graph_hash(graph), target.name, words, machine_name())


def database_path() -> Path:
    """The path of the database: XTC_TUNING_DB, or a file in the user's data folder."""
    chosen = knobs.TUNING_DB.get()
    return chosen or Path(platformdirs.user_data_dir("xtc", appauthor=False), "tuning.db")


def graph_hash(graph: Graph) -> str:
    """SHA-256 of the graph without its name."""
    return hashlib.sha256(_NAME.sub("graph ", str(graph)).encode()).hexdigest()


def options_text(target: ProgramTarget, options: Any) -> str:
    """The non-default options and the number of threads: `opt_level=2 threads=1`."""
    fields = dataclasses.fields(options) if dataclasses.is_dataclass(options) else ()
    values = {field.name: getattr(options, field.name) for field in fields}
    usual = {field.name: field.default for field in fields}
    changed = {name: value for name, value in values.items() if value != usual[name]}
    threads = target.machine_parameters(options).get(THREADS)
    if threads is not None:
        changed[THREADS.lower()] = threads
    return " ".join(f"{name}={changed[name]}" for name in sorted(changed))


def machine_name() -> str:
    """The processor's name, its core count and the operating system."""
    return f"{_processor()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}"


def _processor() -> str:
    try:
        lines = _CPUINFO.read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unnamed processor"


def tuned_schedule(
    graph: Graph, target: ProgramTarget, options: Any, path: Path | None = None
) -> str:
    """The text of the fastest schedule measured for `graph` on this machine.

    Raises UserError with a hint to run a search if there is none.
    """
    import sqlite3

    key = TuningKey.of(graph, target, options)
    database = path or database_path()
    if not database.is_file():
        raise _nothing_tuned(graph, [f"there is no database {database}"])
    try:
        with closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True)) as base:
            found = base.execute(_BEST, dataclasses.astuple(key)).fetchone()
            others = [] if found else base.execute(_NEAR, (key.graph,)).fetchall()
    except sqlite3.Error as error:
        raise UserError(f"cannot read {database}: {error}") from None
    if found is None:
        notes = [f"{database} has none of this graph for {_label(target.name, key.options)} here"]
        notes += [f"it has one for {_label(*entry[:2])} on {entry[2]}" for entry in others]
        raise _nothing_tuned(graph, notes)
    return str(found[0])


def _label(target: str, options: str) -> str:
    return f"{target} {options}".strip()


def _nothing_tuned(graph: Graph, notes: list[str]) -> UserError:
    return UserError(
        f"no schedule of '{graph.name}' has been tuned on this machine",
        notes=notes,
        hints=["search for one with `xtc-tune`, or omit schedule='tuned'"],
    )

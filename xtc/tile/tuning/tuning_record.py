# SPDX-License-Identifier: Apache-2.0
"""Searches for a kernel's schedule, in the tuning database: every candidate with its time or error.

`xtc-tune --list` lists them. Later processes find the chosen schedule there.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from datetime import datetime, timezone
from typing import Any

from xtc.core.errors import UserError, XtcError
from xtc.core.versions import toolchain_versions
from xtc.driver.cached import CompilationKey
from xtc.driver.tuned import TuningKey
from xtc.search.candidate import status_of
from xtc.search.records import MODELLED, Result, Run
from xtc.search.store import Store

STRATEGY = "tile schedules"
_SEARCH = "search"
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Outcome:
    """The result of a schedule of a kernel.

    Attributes:
        schedule: its parameters, as text.
        parameters: its parameters that are integers.
        samples: seconds of each run, or only the model's; empty if it does not run.
        error: the error if it does not compile or run.
        is_measured: whether the seconds were measured on a device.
    """

    schedule: str
    parameters: dict[str, int]
    samples: tuple[float, ...]
    error: XtcError | None
    is_measured: bool


@dataclass(frozen=True)
class Search:
    """A search for the schedule of a kernel.

    Attributes:
        key: a hash of all candidates and of the compiler.
        name: name of the kernel.
        text: the kernel's IR with the first transcribed schedule.
        device: the device for measurements.
        is_measured: whether it can be timed; the static model is used otherwise.
    """

    key: CompilationKey
    name: str
    text: str
    device: Any
    is_measured: bool

    def choice(self) -> str | None:
        """The schedule that was chosen before, or None."""
        try:
            with Store() as store:
                for run in reversed(store.runs_of(self._tuning_key)):
                    right = [each for each in store.results(run.number) if each.median is not None]
                    if run.finished and right:
                        return min(right, key=lambda each: each.median or 0.0).schedule
        except UserError as error:
            _log.warning("tuning %s again: %s", self.name, error.what)
        return None

    def keep(self, outcomes: Sequence[Outcome], seconds: float, *, is_final: bool) -> None:
        """Store the results of all schedules, unless the compiler has changed.

        A later process takes the best one if the search `is_final`: no process died that may
        succeed next time.
        """
        if not self.key.code.unchanged():
            return
        try:
            with Store() as store:
                run = store.add_run(self._run())
                for outcome in outcomes:
                    store.add_result(run.number, _result(outcome, seconds))
                if is_final:
                    store.finish_run(run.number, seconds)
        except UserError as error:
            _log.warning("the search for %s is not stored: %s", self.name, error.what)

    @property
    def _tuning_key(self) -> TuningKey:
        digest = hashlib.sha256(f"tile {self.key.text}".encode()).hexdigest()
        target, arch = self.device.target_name, self.device.device_arch
        machine = self.device.device_chip if self.is_measured else "static model"
        return TuningKey(digest, target, f"arch={arch}", machine)

    def _run(self) -> Run:
        graph, target, options, machine = astuple(self._tuning_key)
        return Run(
            graph=graph,
            name=self.name,
            text=self.text,
            target=target,
            options=options,
            machine=machine,
            versions=toolchain_versions(),
            strategy=STRATEGY,
            space="",
            sampler="all",
            seed=0,
            budget=None,
            flops=0,
            nbytes=0,
            dtype="",
            peak=None,
            bandwidth=None,
            started=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        )


def _result(outcome: Outcome, at: float) -> Result:
    status, message = ("ok", "") if outcome.error is None else status_of(outcome.error)
    return Result(
        schedule=outcome.schedule,
        parameters=outcome.parameters,
        status=status,
        message=message,
        samples=outcome.samples,
        at=at,
        kind=_SEARCH if outcome.is_measured else MODELLED,
    )

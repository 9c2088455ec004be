# SPDX-License-Identifier: Apache-2.0
"""Compiles the schedules of a kernel concurrently, in processes that may crash, and ranks them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from xtc.core import knobs
from xtc.core.errors import ChildDied, DeviceError, UserError, XtcError
from xtc.driver.cached import CompilationKey
from xtc.interfaces.options import code_options
from xtc.system.cache import canonical_text
from xtc.system.cores import usable_cores
from xtc.system.sandbox import Limits, Workers
from xtc.system.workspace import private_folder
from xtc.tile.launch.code import IMAGE
from xtc.tile.launch.compiled import Kernel
from xtc.tile.launch.kept import Files, found, keep
from xtc.tile.settings import get_option
from xtc.tile.tuning.measured import is_measurable, measured
from xtc.tile.tuning.model import modelled_seconds
from xtc.tile.tuning.tuning_record import Outcome, Search

Schedule = tuple[tuple[Any, ...], tuple[tuple[str, Any], ...]]

LIMITS = Limits(seconds=60.0)
"""Resource limits of the compilation of a candidate."""

_CHOICE = "choice"
_workers = Workers("xtc.tile.tuning.compile_worker")


def schedule_text(schedule: Schedule) -> str:
    """The parameters of a schedule by name, as text."""
    return ", ".join(f"{name}={value}" for name, value in schedule[1]) or "no parameters"


@dataclass(frozen=True)
class Candidate:
    """A schedule that was tried.

    Attributes:
        schedule: arguments and named arguments of the kernel's class.
        seconds: seconds per run, measured or from the static model; None if it does not run.
        error: the error if it does not compile or run.
        how: the source of the seconds: "measured", the median of `samples`, or "modelled" if
            nothing was measured.
        samples: seconds of each run by the device's clock, with a cold cache.
    """

    schedule: Schedule
    seconds: float | None
    error: XtcError | None = None
    how: str = "modelled"
    samples: tuple[float, ...] = ()

    @property
    def parameters(self) -> dict[str, Any]:
        """The tuning parameters by name."""
        return dict(self.schedule[1])

    @property
    def outcome(self) -> Outcome:
        """The record for the tuning database."""
        numbers = {name: n for name, n in self.schedule[1] if isinstance(n, int)}
        samples = self.samples or (() if self.seconds is None else (self.seconds,))
        is_measured = self.how == "measured"
        text = schedule_text(self.schedule)
        return Outcome(text, numbers, samples, self.error, is_measured)

    def __str__(self) -> str:
        names = schedule_text(self.schedule)
        result = f"{self.seconds * 1e6:.3g} us ({self.how})" if self.seconds is not None else ""
        return f"{names}: {self.error.what if self.error else result}"


@dataclass(frozen=True)
class Tuning:
    """The schedules of a kernel for some arguments.

    Attributes:
        name: name of the kernel.
        kernels: the transcribed kernel of each schedule, or its error.
        values: the arguments by name.
        sizes: the properties of arguments that the choice may depend on, besides constants.
        device: the device for measurements, if it can be timed.
    """

    name: str
    kernels: Sequence[tuple[Schedule, Kernel | XtcError]]
    values: Mapping[str, Any]
    sizes: int
    device: Any

    def ranked(self) -> list[Candidate]:
        """Every schedule, the fastest first, those with errors last.

        Measured if the device can be timed and the arguments are arrays, else by the static model.
        """
        with ThreadPoolExecutor(min(usable_cores(), get_option("parallel_workers"))) as jobs:
            errors = list(jobs.map(_error_of, (kernel for _, kernel in self.kernels)))
        if self._is_measured:
            candidates = self._measured(errors)
        else:
            candidates = [
                self._modelled(schedule, kernel, error)
                for (schedule, kernel), error in zip(self.kernels, errors, strict=True)
            ]
        return sorted(candidates, key=lambda each: (each.seconds is None, each.seconds or 0.0))

    def choice(self) -> Schedule:
        """The schedule to run, from the tuning database if known. Raises UserError if none
        compiles."""
        search = self._search()
        chosen = search and search.choice()
        for schedule, _ in self.kernels:
            if schedule_text(schedule) == chosen:
                return schedule
        start = time.perf_counter()
        ranked = self.ranked()
        if search is not None:
            # A candidate whose process died may succeed next time.
            died = any(isinstance(each.error, ChildDied | DeviceError) for each in ranked)
            outcomes = [each.outcome for each in ranked]
            search.keep(outcomes, time.perf_counter() - start, is_final=not died)
        if ranked[0].seconds is None:
            raise self._no_schedule(ranked)
        return ranked[0].schedule

    def _search(self) -> Search | None:
        """The search for these candidates; None if it must not be stored."""
        key = self._key()
        texts = [kernel.source for _, kernel in self.kernels if isinstance(kernel, Kernel)]
        if key is None:
            return None
        return Search(key, self.name, texts[0], self.device, self._is_measured)

    def _key(self) -> CompilationKey | None:
        """The key of the choice: all candidates, and the inputs of the model."""
        kernels = [kernel for _, kernel in self.kernels]
        tried = [k.what if isinstance(k, XtcError) else k.source for k in kernels]
        for kernel in kernels:
            if isinstance(kernel, Kernel):
                parts = {"tried": canonical_text(tried), "sizes": str(self.sizes)}
                if self._is_measured:
                    parts["measured on"] = self.device.device_chip
                return kernel.key(_CHOICE, **parts)
        return None

    @property
    def _is_measured(self) -> bool:
        kernels = [kernel for _, kernel in self.kernels if isinstance(kernel, Kernel)]
        return bool(kernels) and is_measurable(self.device, kernels[0].words(self.values))

    def _measured(self, errors: Sequence[XtcError | None]) -> list[Candidate]:
        tried = list(zip(self.kernels, errors, strict=True))
        runs = [
            (schedule, kernel)
            for (schedule, kernel), error in tried
            if isinstance(kernel, Kernel) and error is None
        ]
        found = [Candidate(schedule, None, error) for (schedule, _), error in tried if error]
        kernels = [kernel for _, kernel in runs]
        results = measured(kernels, self.values, self.device)
        for (schedule, _), result in zip(runs, results, strict=True):
            if isinstance(result, XtcError):
                found.append(Candidate(schedule, None, result, "measured"))
            else:
                seconds = statistics.median(result)
                found.append(Candidate(schedule, seconds, None, "measured", result))
        return found

    def _modelled(
        self, schedule: Schedule, kernel: Kernel | XtcError, error: XtcError | None
    ) -> Candidate:
        if isinstance(kernel, XtcError) or error is not None:
            return Candidate(schedule, None, error)
        try:
            return Candidate(schedule, modelled_seconds(kernel, self.values, kernel.support))
        except XtcError as unknown:
            return Candidate(schedule, None, unknown)

    def _no_schedule(self, ranked: Sequence[Candidate]) -> UserError:
        first = ranked[0].error
        return UserError(
            f"no schedule of {self.name} compiles",
            where=first.where if first else None,
            notes=list(map(str, ranked)),
            hints=first.hints if first else (),
        )


def _error_of(kernel: Kernel | XtcError) -> XtcError | None:
    """Compile a candidate, in another process unless it is cached, and return its error or None."""
    if isinstance(kernel, XtcError):
        return kernel
    try:
        if not kernel.is_built:
            key = kernel.image_key
            files = found(key)
            is_cached = files is not None
            if files is None:
                files = _compiled(kernel)
                keep(key, files)
            kernel.take(files, is_cached)
    except XtcError as error:
        return error
    return None


def _compiled(kernel: Kernel) -> Files:
    compiler = kernel.compiler
    options = code_options(compiler.options)
    with private_folder("tile-") as folder:
        job = {
            "target": compiler.target.name,
            "options": {each.name: _plain(getattr(options, each.name)) for each in fields(options)},
            "extensions": [str(file) for file in knobs.EXTENSIONS.get()],
            "text": kernel.text,
            "symbol": kernel.symbol,
            "folder": str(folder),
        }
        _workers.ask(job, LIMITS, what=f"compiling {kernel.name}")
        return {IMAGE: (Path(folder) / IMAGE).read_bytes()}


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value

# SPDX-License-Identifier: Apache-2.0
"""From a graph to a search that runs: makes or finds the run, starts workers, ends them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from xtc.core.errors import DeviceNotFound, UserError, XtcError
from xtc.core.versions import toolchain_versions
from xtc.driver.compilation import Compilation
from xtc.driver.compile import prepare
from xtc.driver.tuned import TuningKey
from xtc.graph.graph import Graph
from xtc.interfaces.target import DEFAULT_TARGET, THREADS
from xtc.search.candidate import CandidateRunner
from xtc.search.cluster import ClusterEvaluator, cluster
from xtc.search.evaluator import Evaluator, LocalEvaluator
from xtc.search.plan import make_space
from xtc.search.problem import Problem
from xtc.search.records import Run
from xtc.search.samplers import Sampler, sampler
from xtc.search.space import SearchSpace
from xtc.search.store import Store
from xtc.search.strategy import Strategy
from xtc.search.tuner import Progress, Tuner
from xtc.system.cores import usable_cores
from xtc.system.sandbox import Limits
from xtc.system.workspace import private_folder

Report = Callable[[Progress], None]
_MOST_JOBS = 4


@dataclass(frozen=True)
class Settings:
    """How a search is done.

    Attributes:
        strategy: the name of a built-in one, the path of a file, or strategies.
        operator: tune this operator alone.
        sampler: its name.
        seed: of the sampler.
        budget: seconds; None for as long as there are candidates.
        trials: candidates in all; None for as many as there is time for.
        jobs: processes that compile; None for one less than there are cores, or as many where code
            uses several threads and nothing is compiled while it is measured; two at least, and at
            most four: compiling takes some three times as long as measuring.
        workers: None for this process; a number of local processes, or `dask://host:port`.
        compile_seconds: after which a compilation is given up.
        run_seconds: after which checking and measuring one candidate is given up.
        memory_bytes: that a candidate may use, compiling as well as running.
    """

    strategy: str | Path | list[Strategy] = "auto"
    operator: str | None = None
    sampler: str = "evolutionary"
    seed: int = 0
    budget: float | None = 60.0
    trials: int | None = None
    jobs: int | None = None
    workers: str | None = None
    compile_seconds: float = 20.0
    run_seconds: float = 20.0
    memory_bytes: int = 4 << 30

    def __post_init__(self) -> None:
        for name, least in (("budget", 0.0), ("trials", 0), ("jobs", 1), ("seed", 0)):
            value = getattr(self, name)
            if value is not None and not value >= least:
                raise UserError(f"{name} is {value}", hints=[f"{name} is {least:g} or more"])


@dataclass
class Session:
    """A graph with its options and a database, ready to be searched.

    Attributes:
        graph: with its dimensions fixed.
        store: where results go.
        target: name of the target.
        options: given options of the target, by name.
        settings: how the search is done.
    """

    graph: Graph
    store: Store
    settings: Settings = field(default_factory=Settings)
    target: str = DEFAULT_TARGET
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.compilation: Compilation = prepare(self.graph, self.target, **self.options)
        self.key = TuningKey.of(self.graph, self.compilation.target, self.compilation.options)

    def search(self, report: Report = lambda progress: None) -> tuple[Run, Progress]:
        """A new search. Returns its run and how it ended."""
        settings = self.settings
        space = make_space(self.compilation, settings.strategy, settings.operator)
        chooser = sampler(settings.sampler, space, settings.seed)
        with self._evaluator(settings.seed) as (evaluator, machine):
            run = self.store.add_run(self._new_run(space, machine))
            progress = self._tuner(run, chooser, evaluator, settings.budget, report).search()
            return self._below_the_peak(run, progress), progress

    def resume(
        self, number: int | None, more: float | None, report: Report = lambda progress: None
    ) -> tuple[Run, Progress]:
        """Go on with a run of this graph here, the newest where `number` is None.

        It goes on for `more` seconds; where that is None, for what is left of its budget. Raises
        UserError where there is no such run, or nothing left of it.
        """
        run = self._found(number)
        chooser = self._sampler_of(run)
        seconds = more
        if more is None and run.budget is not None:
            seconds = run.budget - run.seconds
            if seconds <= 0:
                raise UserError(
                    f"run {run.number} has used its {run.budget:g} s",
                    hints=["--resume --budget 60s goes on for another minute"],
                )
        with self._same_machine(run) as evaluator:
            progress = self._tuner(run, chooser, evaluator, seconds, report).search()
            return self._below_the_peak(run, progress), progress

    def replay(
        self, number: int | None, count: int, report: Report = lambda progress: None
    ) -> tuple[Run, Progress]:
        """Measure the best `count` schedules of a run again, one at a time."""
        run = self._found(number)
        chooser, best = self._sampler_of(run), self.store.best(run.number, count)
        if not best:
            raise UserError(f"run {run.number} has nothing that is right")
        with self._same_machine(run) as evaluator:
            return run, self._tuner(run, chooser, evaluator, None, report).replay(best)

    def _tuner(
        self,
        run: Run,
        chooser: Sampler,
        evaluator: Evaluator,
        seconds: float | None,
        report: Report,
    ) -> Tuner:
        return Tuner(
            self.store,
            run,
            chooser,
            evaluator,
            seconds=seconds,
            trials=self.settings.trials,
            report=report,
        )

    def _found(self, number: int | None) -> Run:
        """A run of this graph; with workers, which may be elsewhere, of any machine."""
        anywhere = self.settings.workers is not None
        runs = self.store.runs_of(self.key, anywhere=anywhere)
        # What was put together of the results of other runs has no space to search.
        chosen = [run for run in runs if number in (None, run.number) and run.space]
        if not chosen:
            what = "no run" if number is None else f"no run {number}"
            raise UserError(
                f"{self.store.path} has {what} of '{self.graph.name}' on this machine",
                hints=["`xtc-tune --list` names the runs there are"],
            )
        return chosen[-1]

    def _sampler_of(self, run: Run) -> Sampler:
        """A sampler as that of a run, which has been told nothing yet."""
        space = make_space(self.compilation, Strategy.several(run.space))
        return sampler(run.sampler, space, run.seed)

    def new_run(self, strategy: str) -> Run:
        """A run on this machine whose results come from elsewhere, under the name of `strategy`."""
        return self._described(strategy, "", self.key.machine)

    def _new_run(self, space: SearchSpace, machine: str) -> Run:
        names = "+".join(part.strategy.name for part in space.operators)
        return self._described(names, space.text, machine)

    def _described(self, strategy: str, space: str, machine: str) -> Run:
        settings, graph = self.settings, self.graph
        first = (*graph.inputs, *graph.outputs)[0]
        return Run(
            graph=self.key.graph,
            name=graph.name,
            text=str(graph),
            target=self.key.target,
            options=self.key.options,
            machine=machine,
            versions=toolchain_versions(),
            strategy=strategy,
            space=space,
            sampler=settings.sampler,
            seed=settings.seed,
            budget=settings.budget,
            flops=graph.flops,
            nbytes=sum(tensor.type.nbytes for tensor in (*graph.inputs, *graph.outputs)),
            dtype=first.dtype,
            peak=self._peak(first.dtype) if machine == self.key.machine else None,
            bandwidth=self._bandwidth() if machine == self.key.machine else None,
            started=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        )

    def _below_the_peak(self, run: Run, progress: Progress) -> Run:
        """The run, whose peak is measured again where the best result is above it."""
        seconds = progress.best.seconds if progress.best is not None else None
        here = run.machine == self.key.machine
        if not (here and seconds and run.peak and run.flops / seconds > run.peak):
            return run
        again = self._peak(run.dtype, again=True)
        return run if again is None else self.store.raise_peak(run.number, again)

    def _peak(self, dtype: str, *, again: bool = False) -> float | None:
        """The FMA peak of the threads, None if nothing here measures it."""
        compilation = self.compilation
        try:
            with compilation.target.runtime(compilation.options) as runtime:
                measured = runtime.remeasured_peak_flops if again else runtime.peak_flops
                return float(measured(dtype)) or None
        except (UserError, DeviceNotFound):  # of another element type, or another machine
            return None

    def _bandwidth(self) -> float | None:
        """The rate of reading memory, None if nothing here measures it."""
        compilation = self.compilation
        try:
            with compilation.target.runtime(compilation.options) as runtime:
                return float(runtime.memory_bandwidth()) or None
        except DeviceNotFound:
            return None

    @contextmanager
    def _same_machine(self, run: Run) -> Iterator[Evaluator]:
        """What measures for a run. Raises UserError if that would be on another machine."""
        with self._evaluator(run.seed) as (evaluator, machine):
            if machine != run.machine:
                raise UserError(
                    f"run {run.number} measured on another machine",
                    notes=[f"that was {run.machine}", f"this is {machine}"],
                )
            yield evaluator

    @contextmanager
    def _evaluator(self, seed: int) -> Iterator[tuple[Evaluator, str]]:
        """What measures, and the name of the machine that it measures on."""
        settings = self.settings
        compile_limits = Limits(settings.compile_seconds, settings.memory_bytes)
        run_limits = Limits(settings.run_seconds, settings.memory_bytes)
        with ExitStack() as stack:
            folder = Path(stack.enter_context(private_folder("tuning-")))
            problem = Problem.of(self.graph, folder, self.target, self.options, seed)
            if settings.workers is not None:
                client = stack.enter_context(cluster(settings.workers))
                there = ClusterEvaluator(client, problem, compile_limits, run_limits)
                yield stack.enter_context(there), there.machine
                return
            runner = CandidateRunner(problem, compile_limits, run_limits)
            cores = usable_cores()
            target, options = self.compilation.target, self.compilation.options
            threads = target.machine_parameters(options).get(THREADS, 1)
            alone = threads > 1 or cores == 1
            jobs = settings.jobs or max(1, min(_MOST_JOBS, cores if alone else max(cores - 1, 2)))
            here = LocalEvaluator(runner, jobs, exclusive=alone)
            yield stack.enter_context(here), self.key.machine


def tune(
    graph: Graph,
    *,
    target: str = DEFAULT_TARGET,
    database: Path | None = None,
    report: Report = lambda progress: None,
    options: Mapping[str, Any] | None = None,
    **settings: Any,
) -> str:
    """Search for a fast schedule of `graph`, whose dimensions are fixed; returns its text.

    Args:
        graph: what to tune.
        target: what it is compiled for.
        database: where results are kept; None for the user's own.
        report: called with the progress, several times a second.
        options: of the target.
        settings: see `Settings`: `budget=60`, `strategy="auto"`, `seed=0` and so on.

    Raises UserError for what does not fit, and XtcError if no candidate is right.
    """
    with Store(database) as store:
        session = Session(graph, store, Settings(**settings), target, dict(options or {}))
        run, progress = session.search(report)
        if progress.best is None:
            raise XtcError(f"no candidate of run {run.number} is right")
        return progress.best.schedule

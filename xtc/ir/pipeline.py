# SPDX-License-Identifier: Apache-2.0
"""Named stages of passes, and a runner with verification, dumps, timing and reproducers."""

from __future__ import annotations

import itertools
import re
import shlex
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xtc.core import knobs
from xtc.core.errors import CompileError, UserError, did_you_mean
from xtc.ir.interrupts import many_delays
from xtc.ir.nested_passes import nested_passes
from xtc.ir.partition import partition_of
from xtc.ir.pass_filter import PassFilter
from xtc.ir.passes import Pass

if TYPE_CHECKING:
    from xtc.ir.mlir import Operation

STAGES = ("source", "scheduled", "bufferized", "offloaded", "lowered", "code")


@dataclass(frozen=True)
class PartitionSteps:
    """Steps for the partition of one device, or of the host if `device` is None."""

    device: str | None
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        return f"on {self.device or 'the host'}: {', '.join(map(str, self.steps))}"


Step = Pass | str | PartitionSteps
"""A pass of the project; a pass of MLIR as text, `canonicalize` or `func.func(cse)`; or steps for
one partition of the module."""


@dataclass(frozen=True)
class Stage:
    """A named point of a pipeline, and the passes that lead to it from the previous stage."""

    name: str
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Pipeline:
    """The ordered stages of one target."""

    stages: tuple[Stage, ...]

    def until(self, stage: str) -> Pipeline:
        """The stages up to and including `stage`. Raises UserError if it is unknown."""
        return Pipeline(self.stages[: self._position(stage) + 1])

    def after(self, stage: str) -> Pipeline:
        """The stages after `stage`, to restart from its IR. Raises UserError if it is unknown."""
        return Pipeline(self.stages[self._position(stage) + 1 :])

    def steps(self, *stages: str) -> tuple[Step, ...]:
        """The steps of these stages, in order. Raises UserError if a stage is unknown."""
        return tuple(step for stage in stages for step in self.stages[self._position(stage)].steps)

    def extended(self, passes: Mapping[str, Sequence[Step]]) -> Pipeline:
        """A copy with steps appended to stages, by name. Raises UserError for an unknown stage."""
        for stage in passes:
            self._position(stage)
        return Pipeline(
            tuple(
                Stage(stage.name, (*stage.steps, *passes.get(stage.name, ())))
                for stage in self.stages
            )
        )

    def _position(self, stage: str) -> int:
        names = [stage.name for stage in self.stages]
        if stage not in names:
            raise UserError(f"there is no stage '{stage}'", hints=did_you_mean(str(stage), names))
        return names.index(stage)


@dataclass
class PassRunner:
    """Runs stages on a module and records times and dumps.

    Attributes:
        dump_dir: the folder for `NN-<pass>.mlir`, written after each pass, or None.
        print_after: called with a title and the IR's text after passes, or None.
        printed: the filter of the passes to print.
        source_name: the name of parsed text in diagnostics, which MLIR calls "-".
        seconds: wall time by stage, and by pass as "stage/pass" if `time_passes` is set.
        observe: called with each of the project's passes and the module it has run on, or None.
    """

    dump_dir: Path | None = None
    print_after: Callable[[str, str], None] | None = None
    time_passes: bool = False
    source_name: str = "-"
    seconds: dict[str, float] = field(default_factory=dict)
    observe: Callable[[Pass, Operation], None] | None = None
    printed: PassFilter = field(default_factory=PassFilter)
    _count: int = 0

    @property
    def one_by_one(self) -> bool:
        """Whether the IR or the time of each pass is recorded."""
        return self.dump_dir is not None or self.print_after is not None or self.time_passes

    @property
    def looked_at(self) -> bool:
        """Whether the result of each pass, or of each of the project's passes, is observed."""
        return self.one_by_one or self.observe is not None

    def run(self, module: Operation, pipeline: Pipeline) -> None:
        """Run every stage in order.

        Raises CompileError with diagnostics and a reproducer, and UserError if a pass to be printed
        does not run.
        """
        steps = (step for stage in pipeline.stages for step in stage.steps)
        self.printed.require_in([text for step in steps for text in _texts(step)])
        with many_delays():
            for stage in pipeline.stages:
                start = time.perf_counter()
                self._run_steps(module, stage.steps, stage.name)
                self._add(stage.name, time.perf_counter() - start)

    def _run_steps(self, module: Operation, steps: Sequence[Step], stage: str) -> None:
        start = module.clone()  # one per stage: a clone of a network for each pass would be slow
        done: list[Step] = []
        again = partial(self._rerun, start, done)
        for group in self._groups(steps):
            if isinstance(group[0], PartitionSteps):
                with partition_of(module, group[0].device) as partition:
                    if partition is not None:
                        self._run_steps(partition, group[0].steps, stage)
            else:
                self._run_group(module, group, stage, again)
            done += group

    def _rerun(self, start: Operation, steps: Sequence[Step]) -> Operation:
        """A copy of `start` after `steps`, which run again."""
        from xtc.ir.mlir import copied

        module = copied(start)
        run_steps(module, steps, self.source_name)
        return module

    def _groups(self, steps: Sequence[Step]) -> Iterable[tuple[Step, ...]]:
        """Consecutive passes of MLIR or of the project, grouped unless each is observed.

        Passes of MLIR share a pass manager. The module is verified after each group; verification
        after each pass takes a sixth of the compilation time of a network.
        """
        for kind, group in itertools.groupby(steps, _kind):
            if kind is PartitionSteps or self.looked_at:
                yield from ((step,) for step in group)
            else:
                yield tuple(group)

    def _run_group(
        self,
        module: Operation,
        group: tuple[Step, ...],
        stage: str,
        again: Callable[[], Operation],
    ) -> None:
        """Run `group` on the module; `again` recreates the module before it, should it fail."""
        before = str(module) if self.print_after is not None else ""
        start = time.perf_counter()
        try:
            run_steps(module, group, self.source_name)
        except CompileError as error:
            raise self._explain(error, again(), group) from None
        if self.one_by_one:
            self._show(before, module, group[0], stage, time.perf_counter() - start)
        if self.observe is not None and isinstance(group[0], Pass):
            self.observe(group[0], module)

    def _explain(
        self, error: CompileError, before: Operation, group: tuple[Step, ...]
    ) -> CompileError:
        """The error with the failing pass of `group`, and a reproducer on a saved copy."""
        failed, module, error = self._first_failure(error, before, group)
        names = ", ".join(f"'{step}'" for step in failed)
        files = [word for file in knobs.EXTENSIONS.get() for word in ("--load", str(file))]
        saved = _save_for_reproduction(module)
        command = ["xtc-opt", *files, saved, *map(command_line_option, failed)]
        return CompileError(
            f"{'pass' if len(failed) == 1 else 'passes'} {names} failed: {error.what}",
            where=error.where,
            notes=error.notes,
            hints=[*error.hints, f"reproduce with: {shlex.join(command)}"],
        )

    def _first_failure(
        self, error: CompileError, before: Operation, group: tuple[Step, ...]
    ) -> tuple[tuple[Step, ...], Operation, CompileError]:
        """The failing pass, the module before it and its error; all passes if none fails alone."""
        module = before.clone()
        for step in group if len(group) > 1 else ():
            snapshot = module.clone()
            try:
                run_steps(module, [step], self.source_name)
            except CompileError as again:
                return (step,), snapshot, again
        return group, before, error

    def _show(self, before: str, module: Operation, step: Step, stage: str, seconds: float) -> None:
        self._count += 1
        if self.time_passes:
            self._add(f"{stage}/{step}", seconds)
        if self.dump_dir is not None:
            _dump(str(module), self.dump_dir, f"{self._count:02d}-{_file_name(step)}.mlir")
        if self.print_after is not None:
            text = str(module)
            if self.printed.takes(str(step), before, text):
                self.print_after(str(step), text)

    def _add(self, key: str, seconds: float) -> None:
        self.seconds[key] = self.seconds.get(key, 0.0) + seconds


def _texts(step: Step) -> Iterable[str]:
    """The passes of a step, including those for a partition."""
    if not isinstance(step, PartitionSteps):
        return [str(step)]
    return [text for inner in step.steps for text in _texts(inner)]


def _dump(text: str, folder: Path, name: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    except OSError as error:
        raise UserError(f"cannot dump IR into {folder}: {error.strerror}") from None


def _kind(step: Step) -> type:
    return Pass if isinstance(step, Pass) else type(step)


def run_steps(module: Operation, steps: Sequence[Step], source_name: str = "-") -> None:
    """Run passes on `module`. Raises CompileError with MLIR's diagnostics, see `diagnostics`.

    The module is verified after each group of consecutive passes of MLIR or of the project.
    """
    from xtc.ir.mlir import MLIRError

    try:
        for kind, group in itertools.groupby(steps, _kind):
            if kind is str:
                _run_upstream(module, [str(step) for step in group])
                continue
            for step in group:
                if isinstance(step, Pass):
                    step.run(module)
                elif isinstance(step, PartitionSteps):
                    _run_on_partition(module, step, source_name)
            module.verify()
    except MLIRError as error:
        said = diagnostics(error, source_name)
        raise CompileError("MLIR refused the module", notes=said) from None


def _run_upstream(module: Operation, passes: Sequence[str]) -> None:
    with module.context:
        manager = _upstream(nested_passes(module, passes))
        manager.enable_verifier(False)
        manager.run(module)
        module.verify()


def _run_on_partition(module: Operation, step: PartitionSteps, source_name: str) -> None:
    with partition_of(module, step.device) as partition:
        if partition is not None:
            run_steps(partition, step.steps, source_name)


def check_step(step: str) -> None:
    """Raise UserError unless MLIR has the passes of `step` with their options.

    Uses the current context if there is one, as a new context takes 10 ms.
    """
    from xtc.ir.mlir import Context

    with Context.current or Context():
        _upstream(step)


def _upstream(text: str) -> Any:
    from xtc.ir.mlir import PassManager

    try:
        return PassManager.parse(f"builtin.module({text})")
    except ValueError as error:
        message = str(error).splitlines()[0].split("error: ")[-1]
        raise UserError(f"MLIR has no pass {text!r}: {message}") from None


def diagnostics(error: BaseException, source_name: str = "-") -> list[str]:
    """The messages of an MLIRError, each with its location.

    `source_name` is the name of the parsed text, which MLIR calls "-".
    """
    found = getattr(error, "error_diagnostics", [])
    return [
        f"{_location_text(diagnostic.location, source_name)}{diagnostic.message}"
        for diagnostic in found
    ] or [str(error)]


def _location_text(location: Any, source_name: str) -> str:
    if not location.is_a_file():
        return f"{location}: "
    if not location.start_line:
        return ""
    name = source_name if location.filename == "-" else location.filename
    return f"{name}:{location.start_line}:{location.start_col}: "


def _save_for_reproduction(module: Operation) -> str:
    with tempfile.NamedTemporaryFile("w", prefix="xtc-", suffix=".mlir", delete=False) as file:
        file.write(str(module))
    return file.name


def command_line_option(step: Step) -> str:
    """The xtc-opt option that runs `step`."""
    text = str(step)
    return f"--pass-pipeline=builtin.module({text})" if "(" in text else f"--{text}"


def _file_name(step: Step) -> str:
    return re.sub(r"[^a-z0-9]+", "-", str(step).split("{")[0].lower()).strip("-")


def print_banner(title: str, text: str) -> None:
    """Print an IR dump in MLIR's format to standard error."""
    sys.stderr.write(f"// -----// IR Dump After {title} //----- //\n{text}")

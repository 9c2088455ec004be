# SPDX-License-Identifier: Apache-2.0
"""Untrusted MLIR text: checked first, then parsed in a child process, which may crash.

MLIR's parser and passes are not hardened: deep nesting overflows their stack, and much invalid
input fails an assertion. Both abort the process.
"""

from __future__ import annotations

import re
import shlex
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from xtc.core import knobs
from xtc.core.errors import ChildDied, CompileError, UserError, XtcError
from xtc.core.location import SourceLocation
from xtc.ir.attributes import LOOP_SCHEDULE, SCHEDULE_LOCATION
from xtc.ir.passes import Pass
from xtc.ir.pipeline import Step, command_line_option, diagnostics
from xtc.loops.attribute_text import AttributeText, lift_schedules
from xtc.system.sandbox import Limits, Workers

if TYPE_CHECKING:
    from xtc.ir.mlir import Operation

MAX_TEXT = 256 << 20
MAX_NESTING = 500
"""The largest nesting depth of brackets of any kind; MLIR's parser survives some thousand."""

_NO_BRACKETS = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|->|[<>]=')
_OPENING = "([{<"
_OTHERS = re.compile(r"[^()\[\]{}<>]+")
_workers = Workers("xtc.driver.foreign_worker")


def check_text(text: str, where: Path | str) -> None:
    """Raise UserError for text that is not Unicode, too long, or nested too deeply to be parsed."""
    if len(text) > MAX_TEXT:
        raise UserError(f"the text is longer than {MAX_TEXT >> 20} MiB", where=where)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UserError("the text has characters that are not Unicode", where=where) from None
    if sum(map(text.count, _OPENING)) <= MAX_NESTING:
        return
    if _nesting(text) > MAX_NESTING:
        raise UserError(f"brackets are nested deeper than {MAX_NESTING}", where=where)


def _nesting(text: str) -> int:
    """The largest number of open brackets outside strings and comments."""
    depth = deepest = 0
    for bracket in _OTHERS.sub("", _NO_BRACKETS.sub("", text)):
        if bracket in _OPENING:
            depth += 1
            deepest = max(deepest, depth)
        elif depth:
            depth -= 1
    return deepest


def run_passes(
    text: str,
    steps: Sequence[Step],
    limits: Limits | None = None,
    *,
    where: str = "<text>",
    keep_input: bool = True,
) -> str:
    """Run passes on MLIR text in a child process; returns the result as text.

    The first call starts a server for later calls; a call costs some milliseconds beyond its
    passes. Thread-safe.

    Args:
        text: the module.
        steps: passes of MLIR or of xtc, the latter found by their names.
        limits: time and memory limits.
        where: the text's name in errors.
        keep_input: keep the text in a temporary file after a crash.

    Raises:
        UserError: the text is too long or nested too deeply, or a pass is unknown.
        ChildDied: MLIR crashed, or exceeded its time or memory limit.
        CompileError: the text is not valid MLIR, or a pass failed; with MLIR's diagnostics.
    """
    check_text(text, where)
    job = {
        "text": text,
        "steps": [_step_text(step) for step in steps],
        "where": where,
        "extensions": [str(file) for file in knobs.EXTENSIONS.get()],
    }
    what = f"running passes on {where}"
    with input_kept(text if keep_input else None, [command_line_option(step) for step in steps]):
        return _workers.ask(job, limits or Limits(), what=what)


def _step_text(step: Step) -> str:
    """A step as text, from which the server recreates it. Raises UserError if it cannot."""
    from xtc.ir import known_passes

    if isinstance(step, Pass) and known_passes.find(step.name) is not type(step):
        raise UserError(
            f"pass '{step.name}' is not registered",
            hints=["xtc.extend(FILE) with the file of the pass, or an entry point of xtc.passes"],
        )
    return str(step)


@contextmanager
def input_kept(
    text: str | None, options: Sequence[str], program: str = "xtc-opt"
) -> Iterator[None]:
    """Write the text to a file if the child process dies; the error has a reproducer."""
    try:
        yield
    except ChildDied as error:
        if text is not None:
            with tempfile.NamedTemporaryFile(
                "w", prefix="xtc-", suffix=".mlir", delete=False
            ) as file:
                file.write(text)
            command = shlex.join([program, file.name, *options])
            error.hints = (*error.hints, f"reproduce with: {command}")
        raise


def parse_module(text: str, where: str) -> Operation:
    """Parse `text` in this process, which bad text may crash.

    Schedules in it become text attributes, because MLIR does not keep the order of dictionaries.
    Raises CompileError, with locations in `where`, for invalid text.
    """
    from xtc.ir.mlir import Context, MLIRError, Module
    from xtc.ir.tile_dialect import DIALECT, load_tile_dialect

    if f'"{DIALECT}.' in text or f"#{DIALECT}." in text:
        load_tile_dialect(Context.current)
    lifted, schedules = lift_schedules(text, where)
    try:
        module = Module.parse(lifted).operation
    except MLIRError as error:
        said = diagnostics(error, where)
        raise CompileError("this is not valid MLIR", where=where, notes=said) from None
    if schedules:
        _put_back(module, schedules)
    return module


def _put_back(module: Operation, schedules: Sequence[AttributeText]) -> None:
    """Attach the schedules that `lift_schedules` extracted from the text to operations."""
    from xtc.ir.mlir import IntegerAttr, StringAttr, all_operations

    for op in all_operations(module):
        number = dict(op.attributes).get(LOOP_SCHEDULE)
        if isinstance(number, IntegerAttr) and -len(schedules) <= number.value < 0:
            schedule = schedules[-1 - number.value]
            op.attributes[LOOP_SCHEDULE] = StringAttr.get(schedule.yaml, module.context)
            op.attributes[SCHEDULE_LOCATION] = StringAttr.get(str(schedule.where), module.context)


@contextmanager
def named_locations(name: str) -> Iterator[None]:
    """Replace "-", MLIR's name for parsed text, by `name` in errors raised in the block."""
    try:
        yield
    except XtcError as error:
        if isinstance(error.where, SourceLocation) and error.where.file == "-":
            error.where = replace(error.where, file=name)
        raise

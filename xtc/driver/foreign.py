# SPDX-License-Identifier: Apache-2.0
"""MLIR text that somebody else wrote: checked first, then parsed where a crash does no harm.

MLIR's parser and passes are not made for hostile input: deep nesting overflows their stack, and
much that is invalid runs into an assertion. Both end the process.
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
"""Brackets of all kinds that may be open at once: MLIR's parser survives some thousand."""

_NO_BRACKETS = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|->|[<>]=')
_OPENING = "([{<"
_OTHERS = re.compile(r"[^()\[\]{}<>]+")
_workers = Workers("xtc.driver.foreign_worker")


def check_text(text: str, where: Path | str) -> None:
    """Raise UserError for MLIR text that is no text, too long, or nested too deep to be parsed."""
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
    """The largest number of open brackets, but for those in strings and comments."""
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

    The first call starts a server that the later ones use; the calls take some milliseconds more
    than the passes. Any thread may call.

    Args:
        text: the module.
        steps: passes of MLIR or of ours, the latter found by their names.
        limits: what the work may use.
        where: what errors call the text.
        keep_input: keep the text that led to a crash in a temporary file.

    Raises:
        UserError: the text is too long or nested too deep, or there is no such pass.
        ChildDied: MLIR crashed, took too long or used up its memory.
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
    """A step's text, from which the server makes it again. Raises UserError if it cannot."""
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
    """Write the text to a file where work in the block dies; the error says how to repeat it."""
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
    """The module that `text` is, parsed in this process, which bad text may end.

    Schedules in it become text, which keeps the order that MLIR takes from dictionaries. Raises
    CompileError, with places in `where`, for text that is not valid.
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
    """Give operations the schedules that `lift_schedules` took from the text."""
    from xtc.ir.mlir import IntegerAttr, StringAttr, all_operations

    for op in all_operations(module):
        number = dict(op.attributes).get(LOOP_SCHEDULE)
        if isinstance(number, IntegerAttr) and -len(schedules) <= number.value < 0:
            schedule = schedules[-1 - number.value]
            op.attributes[LOOP_SCHEDULE] = StringAttr.get(schedule.yaml, module.context)
            op.attributes[SCHEDULE_LOCATION] = StringAttr.get(str(schedule.where), module.context)


@contextmanager
def named_locations(name: str) -> Iterator[None]:
    """Let errors that leave the block speak of the file `name`; MLIR calls what it parsed "-"."""
    try:
        yield
    except XtcError as error:
        if isinstance(error.where, SourceLocation) and error.where.file == "-":
            error.where = replace(error.where, file=name)
        raise

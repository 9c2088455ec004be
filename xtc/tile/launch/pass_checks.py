# SPDX-License-Identifier: Apache-2.0
"""Finds races that a compiler pass introduces: the interpreter runs the kernel after each pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from xtc.core.errors import XtcError
from xtc.ir.builders.tile import has_layout
from xtc.ir.mlir import Module, all_operations
from xtc.ir.pipeline import Pipeline, Stage, Step

if TYPE_CHECKING:
    from xtc.tile.interpreter.report import Report
    from xtc.tile.launch.compiled import Kernel

STAGES = ("pipelined", "scheduled", "bufferized")
"""Stages after `source` whose IR is in the dialect `tile`."""

_LAYOUTS = "scheduled"


def checked_passes(kernel: Kernel, values: Mapping[str, Any]) -> dict[str, Report]:
    """Reports by the names of passes that change the kernel; `source` is first.

    Raises RaceError, DeadlockError and UserError for the first pass whose result has a mistake,
    with its name in a note. The arguments keep their contents.
    """
    found: dict[str, Report] = {}
    for name, module in _modules(kernel):
        try:
            found[name] = kernel.interpreted(module, copies(values))
        except XtcError as error:
            if found:
                error.notes = (*error.notes, f"after the pass {name}: a compiler bug")
            raise
    return found


def _modules(kernel: Kernel) -> Iterator[tuple[str, Module]]:
    """The kernel after each pass that changes it, with layouts."""
    stages = kernel.support.pipeline
    layouts = stages.steps(_LAYOUTS)
    done: tuple[Step, ...] = ()
    yield "source", kernel.through(_of(layouts))
    text = kernel.source
    for step in stages.steps(*STAGES):
        done = (*done, step)
        module = kernel.through(_of(done))
        if str(module) == text:
            continue
        text = str(module)
        yield (
            _named(step),
            module if _is_complete(module) else kernel.through(_of((*done, *layouts))),
        )


def _named(step: Step) -> str:
    return str(getattr(step, "name", step))


def _of(steps: tuple[Step, ...]) -> Pipeline:
    return Pipeline((Stage("checked", steps),))


def _is_complete(module: Module) -> bool:
    """Whether tiles have their layouts, which the interpreter needs."""
    results = [value for op in all_operations(module.operation) for value in op.results]
    tiles = [value for value in results if str(value.type).startswith("tensor<")]
    return all(map(has_layout, tiles))


def copies(values: Mapping[str, Any]) -> dict[str, Any]:
    """Copies of the arguments, including arrays."""
    return {
        name: value.copy() if isinstance(value, np.ndarray) else value
        for name, value in values.items()
    }

# SPDX-License-Identifier: Apache-2.0
"""The schedules of a compilation: the user's, and the target's defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xtc.ir.passes import SchedulingPass
from xtc.ir.pipeline import PassRunner
from xtc.schedule import Schedule

if TYPE_CHECKING:
    from xtc.driver.compilation import Compilation
    from xtc.ir.mlir import Operation
    from xtc.ir.passes import Pass


def default_schedules(compilation: Compilation) -> dict[str, str]:
    """The operators' schedules by name, each as one line of YAML.

    Runs the stages up to `scheduled` again and reads the IR after the pass that adds defaults.
    """
    from xtc.ir import mlir

    found: dict[str, str] = {}

    def read(step: Pass, module: Operation) -> None:
        if isinstance(step, SchedulingPass):
            found.update(step.schedules_in(module))

    with mlir.Context():
        module = mlir.Module.parse(compilation.source()).operation
        PassRunner(observe=read).run(module, compilation.pipeline().until("scheduled"))
    return found


def schedule_in_use(compilation: Compilation) -> Schedule:
    """The schedules in use: the user's, and the target's defaults for other operators."""
    texts = {**default_schedules(compilation), **compilation.schedules}
    lines = [f"'{name}': {text}" for name, text in texts.items()]
    return Schedule.of(compilation.graph, "\n".join(lines)).with_notes(compilation.notes)

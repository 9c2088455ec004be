# SPDX-License-Identifier: Apache-2.0
"""Finds out which schedules a target chooses for operators that have none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xtc.ir.passes import SchedulingPass
from xtc.ir.pipeline import PassRunner

if TYPE_CHECKING:
    from xtc.driver.compile import Compilation
    from xtc.ir.mlir import Operation
    from xtc.ir.passes import Pass


def default_schedules(compilation: Compilation) -> dict[str, str]:
    """The schedules that operators of the graph get, by name, as one line of YAML each.

    Runs the stages up to `scheduled` once more and reads the IR after the pass that chooses.
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

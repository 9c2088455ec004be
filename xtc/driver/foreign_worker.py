# SPDX-License-Identifier: Apache-2.0
"""The server behind `xtc.driver.foreign.run_passes`: its children parse MLIR and run passes."""

from __future__ import annotations

from xtc.core.extensions import extend
from xtc.driver.foreign import named_locations, parse_module
from xtc.ir import known_passes, mlir
from xtc.ir.pass_text import parse_step
from xtc.ir.pipeline import run_steps
from xtc.system.sandbox import Job, serve


def main() -> None:
    """Serve until the end of standard input."""
    context = mlir.single_threaded_context()
    known_passes.passes()
    serve(lambda job: _run(context, job))


def _run(context: mlir.Context, job: Job) -> str:
    for file in job["extensions"]:
        extend(file)
    with context, named_locations(job["where"]):
        steps = [parse_step(text) for text in job["steps"]]
        module = parse_module(job["text"], job["where"])
        if steps:
            run_steps(module, steps, job["where"])
        return str(module)

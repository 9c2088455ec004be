# SPDX-License-Identifier: Apache-2.0
"""The server behind `xtc.core.foreign.run_passes`: its children parse MLIR and run passes."""

from __future__ import annotations

from xtc.core import discover, mlir
from xtc.core.foreign import named_places, parse_module
from xtc.core.guard import Job, serve
from xtc.core.pipeline import run_steps
from xtc.core.steps import parse_step


def main() -> None:
    """Serve until standard input ends."""
    context = mlir.single_threaded_context()
    discover.passes()
    serve(lambda job: _run(context, job))


def _run(context: mlir.Context, job: Job) -> str:
    with context, named_places(job["where"]):
        steps = [parse_step(text) for text in job["steps"]]
        module = parse_module(job["text"], job["where"])
        if steps:
            run_steps(module, steps, job["where"])
        return str(module)

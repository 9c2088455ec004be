# SPDX-License-Identifier: Apache-2.0
"""Parses pipeline steps: a pass of the project if it has one of the name, else one of MLIR's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xtc.core.errors import UserError, close_match, did_you_mean
from xtc.ir import known_passes
from xtc.ir.pass_filter import pass_names
from xtc.ir.passes import Pass, split_pass
from xtc.ir.pipeline import STAGES, Step, check_step
from xtc.ir.upstream_passes import UPSTREAM


def parse_step(text: str) -> Step:
    """The step that prints as `text`, `name{option=value}`. Raises UserError if it is invalid."""
    name = text.partition("{")[0]
    own = known_passes.find(name)
    return check_upstream(text) if own is None else own.parse_options(split_pass(text)[1])


def steps_by_stage(
    passes: Mapping[str, Sequence[Pass | str]] | None,
) -> dict[str, tuple[Step, ...]]:
    """A user's passes for the ends of stages, parsed. Raises UserError for invalid ones."""
    found: dict[str, tuple[Step, ...]] = {}
    for stage, steps in (passes or {}).items():
        if stage not in STAGES[:-1]:
            hints = did_you_mean(str(stage), STAGES[:-1])
            raise UserError(f"no passes can run at the end of stage {stage!r}", hints=hints)
        found[stage] = tuple(map(_step, [steps] if isinstance(steps, Pass | str) else steps))
    return found


def _step(step: object) -> Step:
    if isinstance(step, Pass):
        return step
    if not isinstance(step, str):
        raise UserError(
            f"{step!r} is not a pass",
            notes=["a pass is an instance of xtc.ir.passes.Pass, or text"],
        )
    return parse_step(step)


def check_upstream(step: str) -> str:
    """`step`, if MLIR has its passes; else raises UserError with hints from all pass names."""
    try:
        check_step(step)
    except UserError as error:
        error.hints = _closest(step)
        raise
    return step


def _closest(step: str) -> tuple[str, ...]:
    """Hints for the unknown pass names in `step`; names with a dot are MLIR operations."""
    known = {*known_passes.names(), *UPSTREAM}
    unknown = sorted(name for name in pass_names(step) - known if "." not in name)
    return tuple(hint for name in unknown for hint in close_match(name, known))

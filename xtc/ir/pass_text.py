# SPDX-License-Identifier: Apache-2.0
"""Steps of a pipeline from their text: a pass of ours where there is one of the name, or MLIR's."""

from __future__ import annotations

from xtc.core.errors import UserError, close_match
from xtc.ir import known_passes
from xtc.ir.passes import split_pass
from xtc.ir.pipeline import Step, check_step


def parse_step(text: str) -> Step:
    """The step that prints as `text`, `name{option=value}`. Raises UserError where it is none."""
    name = text.partition("{")[0]
    own = known_passes.passes().get(name)
    return check_upstream(text) if own is None else own.parse_options(split_pass(text)[1])


def check_upstream(step: str) -> str:
    """`step` if MLIR has it, a pass or several. Raises UserError, which knows our own passes."""
    try:
        check_step(step)
    except UserError as error:
        error.hints = tuple(close_match(step.partition("{")[0], known_passes.passes()))
        raise
    return step

# SPDX-License-Identifier: Apache-2.0
"""Passes as command-line options: `--name{option=value}`, and the syntax of mlir-opt."""

from __future__ import annotations

from collections.abc import Sequence

from xtc.core.errors import UserError
from xtc.ir.pass_text import check_upstream, parse_step
from xtc.ir.pipeline import Step

_PIPELINE = "--pass-pipeline"


def joined(argv: Sequence[str]) -> list[str]:
    """`argv` with `--pass-pipeline PIPELINE` joined as `--pass-pipeline=PIPELINE`."""
    words: list[str] = []
    for word in argv:
        if words and words[-1] == _PIPELINE:
            words[-1] = f"{_PIPELINE}={word}"
        else:
            words.append(word)
    return words


def steps(texts: Sequence[str]) -> tuple[Step, ...]:
    """The passes that command-line options name, in order. Raises UserError."""
    return tuple(map(_step, texts))


def _step(text: str) -> Step:
    if text.startswith(_PIPELINE):
        return check_upstream(
            _inner_pipeline(text.removeprefix(_PIPELINE).removeprefix("=").strip())
        )
    if not text.startswith("--") or text == "--":
        raise UserError(f"{text!r} is neither an option nor a pass")
    option = text.removeprefix("--")
    if "{" not in option and "=" in option:  # `--pass=option=value`, as in mlir-opt
        option = option.replace("=", "{", 1) + "}"
    return parse_step(option)


def _inner_pipeline(text: str) -> str:
    if not (text.startswith("builtin.module(") and text.endswith(")")):
        raise UserError(f"pipeline {text!r} is not of the form builtin.module(...)")
    return text.removeprefix("builtin.module(").removesuffix(")")

# SPDX-License-Identifier: Apache-2.0
"""Runs scripts of the transform dialect on a module, in this process and without passes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from xtc.core.errors import CompileError
from xtc.ir.pipeline import diagnostics

if TYPE_CHECKING:
    from xtc.ir.mlir import Operation

_HEAD = """module attributes {transform.with_named_sequence} {
transform.named_sequence @__transform_main(%root: !transform.any_op) {
"""
_TAIL = """
transform.yield
}
}
"""
_FILE = "transform-script"
_LOCATION = re.compile(rf'{_FILE}"?:(\d+):\d+')


def apply_script(module: Operation, text: str) -> None:
    """Apply transform operations to `module` in place.

    Args:
        module: the payload.
        text: the body of the named sequence, one operation a line, without the yield; `%root` is
            the module, a `!transform.any_op`.

    Raises:
        CompileError: the script is not valid, or an operation of it does not apply; notes have the
            diagnostics and the script's lines they speak of. The module may be half rewritten.
    """
    from xtc.ir.mlir import MLIRError, apply_named_sequence

    with module.context:
        try:
            apply_named_sequence(module, _parsed(text))
        except MLIRError as error:
            raise _failure("the transform script is not valid", text, diagnostics(error)) from None
        except ValueError as error:
            raise _failure("a transform does not apply", text, str(error).splitlines()) from None


def _parsed(text: str) -> Operation:
    from xtc.ir.mlir import Operation

    return Operation.parse(f"{_HEAD}{text}{_TAIL}", source_name=_FILE).operation


def _failure(what: str, text: str, said: list[str]) -> CompileError:
    """An error with the interpreter's words, and the lines of the script that they name."""
    lines = text.splitlines()
    first = _HEAD.count("\n") + 1
    named = {int(number) - first for note in said for number in _LOCATION.findall(note)}
    quoted = [f"script: {lines[n].strip()}" for n in sorted(named) if 0 <= n < len(lines)]
    return CompileError(what, notes=[*said, *quoted])

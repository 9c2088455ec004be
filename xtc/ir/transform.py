# SPDX-License-Identifier: Apache-2.0
"""Applies scripts of the transform dialect to a module, in this process and without passes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from xtc.core.errors import CompileError
from xtc.ir.pipeline import diagnostics

if TYPE_CHECKING:
    from xtc.ir.mlir import Operation

ANY = "!transform.any_op"

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
        text: the body of the named sequence, one operation per line, without the yield; `%root` is
            the module, a `!transform.any_op`.

    Raises:
        CompileError: the script is invalid, or one of its operations does not apply. The notes
            contain the diagnostics and the script lines they refer to. The module may be partly
            rewritten.
    """
    from xtc.ir.mlir import MLIRError, apply_named_sequence

    with module.context:
        try:
            apply_named_sequence(module, _parsed(text))
        except MLIRError as error:
            raise _failure("the transform script is not valid", text, diagnostics(error)) from None
        except ValueError as error:
            raise _failure("a transform does not apply", text, str(error).splitlines()) from None


def match_each(module: Operation, handles: Mapping[str, str], together: str) -> list[str]:
    """The first lines of a script, which match each handle's operations by their attribute.

    A match walks the whole module. A single match therefore finds all operations that are the only
    one with their attribute.

    Args:
        module: the payload.
        handles: the names of handles, with their %, by the unit attribute of their operations.
        together: a unit attribute for this single match, which the caller removes.
    """
    from xtc.ir.mlir import UnitAttr

    order = [
        (op, mark)
        for op in _in_order_of_matches(module)
        for mark in op.attributes
        if mark in handles
    ]
    times = Counter(mark for _, mark in order)
    marks = Counter(op for op, _ in order)
    alone = [(op, mark) for op, mark in order if times[mark] == marks[op] == 1]
    for op, _ in alone:
        op.attributes[together] = UnitAttr.get(op.context)
    single = {mark for _, mark in alone}
    lines = [f"{handle} = {_match(mark)}" for mark, handle in handles.items() if mark not in single]
    if alone:
        names = ", ".join(handles[mark] for _, mark in alone)
        types = ", ".join([ANY] * len(alone))
        lines += [
            f"%together = {_match(together)}",
            f"{names} = transform.split_handle %together : ({ANY}) -> ({types})",
        ]
    return lines


def _match(mark: str) -> str:
    return f"transform.structured.match attributes {{{mark}}} in %root : ({ANY}) -> {ANY}"


def _in_order_of_matches(module: Operation) -> list[Operation]:
    from xtc.ir.mlir import WalkOrder, all_operations

    return all_operations(module, WalkOrder.POST_ORDER)


def _parsed(text: str) -> Operation:
    from xtc.ir.mlir import Operation

    return Operation.parse(f"{_HEAD}{text}{_TAIL}", source_name=_FILE).operation


def _failure(what: str, text: str, said: list[str]) -> CompileError:
    """An error with the interpreter's diagnostics and the script lines they refer to."""
    lines = text.splitlines()
    first = _HEAD.count("\n") + 1
    named = {int(number) - first for note in said for number in _LOCATION.findall(note)}
    quoted = [f"script: {lines[n].strip()}" for n in sorted(named) if 0 <= n < len(lines)]
    return CompileError(what, notes=[*said, *quoted])

# SPDX-License-Identifier: Apache-2.0
"""The layout of C code, and the origins of operations for its comments."""

from __future__ import annotations

import textwrap

from xtc.ir.attributes import LOOP_PATH, NODE
from xtc.ir.mlir import Operation, StringAttr


def broken(text: str, width: int) -> list[str]:
    """The lines of a statement, indented after the first; string literals are not split."""
    if len(text) <= width:
        return [text]
    return textwrap.wrap(
        text,
        width,
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def node_of(op: Operation) -> str:
    """The graph node, or the step of a node, that an operation came from; "" if unknown."""
    if NODE in op.attributes:
        return str(StringAttr(op.attributes[NODE]).value).removesuffix(".init")
    location = op.location
    return str(location.name_str) if location.is_a_name() else ""


def loop_paths(op: Operation) -> list[str]:
    """The names of loops from a schedule or an operator: "k#32" for the attribute "./k#32"."""
    return [name.removeprefix(LOOP_PATH) for name in op.attributes if name.startswith(LOOP_PATH)]


def symbol_of(op: Operation) -> str:
    """The symbol of an operation."""
    return str(StringAttr(op.attributes["sym_name"]).value)

# SPDX-License-Identifier: Apache-2.0
"""How C code is laid out, and what its comments say of where an operation came from."""

from __future__ import annotations

import textwrap

from xtc.ir.attributes import LOOP_PATH, NODE
from xtc.ir.mlir import Operation, StringAttr


def broken(text: str, width: int) -> list[str]:
    """The lines of a statement, those after the first indented; strings of text are not cut."""
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
    """The graph's node that an operation came from, or a step of it; "" if that is unknown."""
    if NODE in op.attributes:
        return str(StringAttr(op.attributes[NODE]).value).removesuffix(".init")
    location = op.location
    return str(location.name_str) if location.is_a_name() else ""


def loop_paths(op: Operation) -> list[str]:
    """The names that a schedule or an operator gives loops: "k#32" of the attribute "./k#32"."""
    return [name.removeprefix(LOOP_PATH) for name in op.attributes if name.startswith(LOOP_PATH)]


def symbol_of(op: Operation) -> str:
    """The symbol that an operation defines."""
    return str(StringAttr(op.attributes["sym_name"]).value)

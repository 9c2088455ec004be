# SPDX-License-Identifier: Apache-2.0
"""How C code is laid out, and what comments and errors say of where an operation came from."""

from __future__ import annotations

import re
import textwrap

from xtc.core.mlir import Location, Operation, StringAttr

NODE = "xtc.node"
_LOOP = "./"


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
    """The graph's node that an operation came from, or a step of it; "" where that is not known."""
    if NODE in op.attributes:
        return str(StringAttr(op.attributes[NODE]).value).removesuffix(".init")
    location = op.location
    return str(location.name_str) if location.is_a_name() else ""


def loop_paths(op: Operation) -> list[str]:
    """The names that a schedule or an operator gives loops: "k#32" of the attribute "./k#32"."""
    return [name.removeprefix(_LOOP) for name in op.attributes if name.startswith(_LOOP)]


def user_line(op: Operation) -> str | None:
    """`file:line` of the user's own code, where it is known."""
    location: Location = op.location
    while location.is_a_name():
        location = location.child_loc
    if not location.is_a_file() or location.filename == "-":
        return None
    return f"{location.filename}:{location.start_line}"


def first_line(op: Operation) -> str:
    """An operation as MLIR writes it, its regions left away."""
    return re.split(r"\s*[{]?\n", str(op).strip(), maxsplit=1)[0]


def symbol_of(op: Operation) -> str:
    """The symbol that an operation defines."""
    return str(StringAttr(op.attributes["sym_name"]).value)

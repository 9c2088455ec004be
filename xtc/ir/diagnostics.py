# SPDX-License-Identifier: Apache-2.0
"""What messages say of an operation: the user's line, and the operation's text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xtc.ir.mlir import Location, Operation


def user_line(op: Operation) -> str | None:
    """`file:line` of the user's own code, where it is known."""
    location: Location = op.location
    while location.is_a_name():
        location = location.child_loc
    if not location.is_a_file() or location.filename == "-":
        return None
    return f"{location.filename}:{location.start_line}"


def first_line(op: Operation) -> str:
    """An operation as MLIR writes it, without its regions."""
    return re.split(r"\s*[{]?\n", str(op).strip(), maxsplit=1)[0]

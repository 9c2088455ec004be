# SPDX-License-Identifier: Apache-2.0
"""The user's source line and the text of an operation, for messages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xtc.ir.mlir import Location, Operation


def user_line(op: Operation) -> str | None:
    """`file:line` in the user's code, or None if unknown."""
    location: Location = op.location
    while location.is_a_name():
        location = location.child_loc
    if not location.is_a_file() or location.filename == "-":
        return None
    return f"{location.filename}:{location.start_line}"


def first_line(op: Operation) -> str:
    """The text of an operation without its regions."""
    return re.split(r"\s*[{]?\n", str(op).strip(), maxsplit=1)[0]

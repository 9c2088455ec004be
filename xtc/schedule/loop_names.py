# SPDX-License-Identifier: Apache-2.0
"""Names that users give to loops."""

from __future__ import annotations

import re

from xtc.core.errors import UserError, shown

MAX_NAME = 64


def is_loop_name(name: str) -> bool:
    """Whether a loop can have that name; loops of data also have `#` and `.` in theirs."""
    return len(name) <= MAX_NAME and re.sub(r"#[0-9]+(\.[0-9]+)?$", "", name).isidentifier()


def check_loop_name(name: str, node: str) -> None:
    """Raise UserError if a loop of `node` cannot have that name."""
    if not name.isidentifier() or len(name) > MAX_NAME:
        raise UserError(
            f"{shown(name)} cannot be the name of a loop of {node}",
            hints=[f"letters, digits and _, at most {MAX_NAME}"],
        )

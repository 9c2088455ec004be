# SPDX-License-Identifier: Apache-2.0
"""Rules for the names of loops."""

from __future__ import annotations

import re

from xtc.core.errors import UserError, shown

MAX_NAME = 64


def is_loop_name(name: str) -> bool:
    """Whether a loop can have that name; names in the data form also contain `#` and `.`."""
    return len(name) <= MAX_NAME and re.sub(r"#[0-9]+(\.[0-9]+)?$", "", name).isidentifier()


def check_loop_name(name: str, node: str) -> None:
    """Raise UserError if `name` is not a valid loop name; `node` is the operator in the message."""
    if not name.isidentifier() or len(name) > MAX_NAME:
        raise UserError(
            f"{shown(name)} is not a valid name for a loop of {node}",
            hints=[f"letters, digits and _, at most {MAX_NAME}"],
        )

# SPDX-License-Identifier: Apache-2.0
"""Option checks that several passes share."""

from __future__ import annotations

from dataclasses import fields

from xtc.core.errors import UserError
from xtc.ir.passes import Pass


def require_positive(owner: Pass) -> None:
    """Raise UserError unless each integer option is 1 or more."""
    for field in fields(owner):
        value = getattr(owner, field.name)
        if isinstance(value, int) and not isinstance(value, bool) and value < 1:
            raise UserError(
                f"option '{field.name}' of pass '{owner.name}' is {value}",
                notes=["it must be 1 or more"],
            )

# SPDX-License-Identifier: Apache-2.0
"""All built-in functions, by name."""

from __future__ import annotations

from xtc.core.errors import did_you_mean
from xtc_targets.wse.csl.errors import CslError, Position
from xtc_targets.wse.sema.builtins import (
    control_tables,
    descriptor_calls,
    handles,
    json_values,
    layout,
    library,
    numbers,
    operations,
    symbols,
    tile,
    types,
)
from xtc_targets.wse.sema.builtins.table import TABLE, Builtin

SUBJECTS = (
    numbers, types, handles, layout, tile, descriptor_calls, operations, library, json_values,
    symbols, control_tables,
)  # fmt: skip
"""The files that declare them."""


def find(name: str, at: Position) -> Builtin:
    """The implementation of `@name`. Raises CslError if it does not exist."""
    if name not in TABLE:
        known = [each for each in TABLE if not each.startswith("_")]
        raise CslError(f"@{name} is not supported", where=at, hints=did_you_mean(name, known))
    return TABLE[name]

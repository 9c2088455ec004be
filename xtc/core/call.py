# SPDX-License-Identifier: Apache-2.0
"""Values given by position and by name, as in a call, matched with the names that are wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xtc.core.errors import UserError, did_you_mean


def match_names(
    callee: str,
    names: Sequence[str],
    args: Sequence[Any],
    named: Mapping[str, Any],
    what: str = "arrays",
) -> dict[str, Any]:
    """Each of `names` with the value given for it, in the order of `names`.

    Raises UserError, which calls the function `callee`, where a value is missing, too many,
    given twice or of an unknown name.
    """
    if len(args) > len(names):
        raise UserError(f"{callee} takes {len(names)} {what} ({', '.join(names)}), not {len(args)}")
    given = dict(zip(names, args, strict=False))
    for name, value in named.items():
        if name not in names:
            raise UserError(f"{callee} has no input '{name}'", hints=did_you_mean(name, names))
        if name in given:
            raise UserError(f"input '{name}' of {callee} is given twice")
        given[name] = value
    missing = [name for name in names if name not in given]
    if missing:
        raise UserError(
            f"{callee} is called without {', '.join(map(repr, missing))}",
            notes=[f"it takes {', '.join(names)}"],
        )
    return {name: given[name] for name in names}

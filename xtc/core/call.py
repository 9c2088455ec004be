# SPDX-License-Identifier: Apache-2.0
"""Matches the positional and keyword arguments of a call with the parameter names."""

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
    """The value for each of `names`, in the order of `names`.

    Raises UserError if a value is missing, surplus, given twice or given for an unknown name.
    `callee` is the function's name in messages.
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

# SPDX-License-Identifier: Apache-2.0
"""The table of built-in functions, and the decorator that fills it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from xtc_targets.wse.csl import tree
from xtc_targets.wse.csl.errors import CslError
from xtc_targets.wse.sema.frame import Frame
from xtc_targets.wse.sema.values import Value

Builtin: TypeAlias = Callable[[Frame, tree.Builtin], Value]

TABLE: dict[str, Builtin] = {}
"""The implementation of `@name` by name."""


def builtin(name: str, least: int, most: int | None = None) -> Callable[[Builtin], Builtin]:
    """Register the implementation of `@name`, with its minimum and maximum number of arguments."""
    highest = least if most is None else most

    def declare(function: Builtin) -> Builtin:
        def checked(frame: Frame, call: tree.Builtin) -> Value:
            if not least <= len(call.args) <= highest:
                wanted = str(least) if least == highest else f"{least} to {highest}"
                raise CslError(
                    f"@{name} takes {wanted} arguments, not {len(call.args)}", where=call.at
                )
            return function(frame, call)

        TABLE[name] = checked
        return function

    return declare

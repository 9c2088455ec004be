# SPDX-License-Identifier: Apache-2.0
"""The operators by name: each is the class of its name in `xtc/ops/<name>.py`."""

from __future__ import annotations

from functools import cache

from xtc.core.discover import class_in, is_name, modules
from xtc.core.errors import UserError, did_you_mean
from xtc.graph.operator import Operator

_PACKAGE = "xtc.ops"


@cache
def operators() -> tuple[str, ...]:
    """Sorted names of the operators: files of `xtc/ops` that define the operator of their name."""
    return tuple(name for name in modules(_PACKAGE) if _class(name) is not None)


def operator(name: str) -> type[Operator]:
    """The class of the operator called `name`. Raises UserError where there is none."""
    found = _class(name) if is_name(name) and name in modules(_PACKAGE) else None
    if found is None:
        raise UserError(
            f"there is no operator {name!r}", hints=did_you_mean(str(name), operators())
        )
    return found


@cache
def _class(name: str) -> type[Operator] | None:
    return class_in(_PACKAGE, name, Operator, name)

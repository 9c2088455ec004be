# SPDX-License-Identifier: Apache-2.0
"""Finds operators by name: classes in `xtc/ops/<name>.py`, and third-party ones."""

from __future__ import annotations

from functools import cache

from xtc.core.discover import class_in, is_name, modules
from xtc.core.errors import UserError, did_you_mean
from xtc.core.extensions import defined, entries, load_entry
from xtc.graph.operator import Operator

_PACKAGE = _GROUP = "xtc.ops"


@cache
def operators() -> tuple[str, ...]:
    """Sorted names of the operators: files of `xtc/ops` that define an operator of that name."""
    return tuple(name for name in modules(_PACKAGE) if _class(name) is not None)


def operator(name: str) -> type[Operator]:
    """The class of the operator called `name`; the project's own come first. Raises UserError if
    there is none."""
    found = _find(name) if is_name(name) else None
    if found is None:
        known = sorted({*operators(), *defined(Operator), *entries(_GROUP)})
        raise UserError(f"there is no operator {name!r}", hints=did_you_mean(str(name), known))
    return found


def require_known(op: Operator) -> None:
    """Raise UserError unless the name of `op` finds its class, which reading a file requires."""
    kind = type(op)
    if not (is_name(op.name) and _find(op.name) is kind):
        raise UserError(
            f"operator '{op.name}' is not registered, so its graph could not be read back",
            notes=[f"it is {kind.__module__}.{kind.__qualname__}"],
            hints=["xtc.extend(FILE) with the file of the class, or an entry point of xtc.ops"],
        )


def _find(name: str) -> type[Operator] | None:
    own = _class(name) if name in modules(_PACKAGE) else None
    if own is not None:
        return own
    loaded: type[Operator] | None = defined(Operator).get(name)
    if loaded is None and name in entries(_GROUP):
        loaded = load_entry(entries(_GROUP)[name], Operator)
    return loaded


@cache
def _class(name: str) -> type[Operator] | None:
    return class_in(_PACKAGE, name, Operator, name)

# SPDX-License-Identifier: Apache-2.0
"""External functions that compute a tile in place of the inner loops."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from xtc.core.errors import UserError, shown

_HINT = "{external: {function: f, sources: [f.c]}}"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_FIELDS = ("function", "sources", "flags")
_RESERVED = frozenset(
    """auto break case char const continue default do double else enum extern float for goto if
    inline int long main register restrict return short signed sizeof static struct switch typedef
    union unsigned void volatile while""".split()
)


@dataclass(frozen=True)
class External:
    """The function that a loop calls in each iteration.

    Attributes:
        function: its name in C.
        sources: C or assembly files that define it, in link order.
        flags: compiler flags for these files, after those for the machine.
        axes: the axes of the loops that it replaces, in the operation's order; () until the nest
            is complete.
    """

    function: str
    sources: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    axes: tuple[str, ...] = ()

    @property
    def data(self) -> str:
        """The argument of the annotation `external`, in YAML."""
        if not self.sources and not self.flags:
            return self.function
        parts = [f"function: {self.function}"]
        parts += [f"sources: {_quoted(self.sources)}"] * bool(self.sources)
        parts += [f"flags: {_quoted(self.flags)}"] * bool(self.flags)
        return f"{{{', '.join(parts)}}}"


def _quoted(texts: Iterable[str]) -> str:
    """A list of texts in YAML."""
    return "[" + ", ".join("'" + text.replace("'", "''") + "'" for text in texts) + "]"


def external_of(loop: str, argument: Any) -> External:
    """Parse the argument of the annotation `external`. Raises UserError."""
    fields = {"function": argument} if isinstance(argument, str) else argument
    if not isinstance(fields, Mapping) or "function" not in fields:
        raise UserError(f"external of '{loop}' takes a function and its sources", hints=[_HINT])
    unknown = [name for name in fields if name not in _FIELDS]
    if unknown:
        raise UserError(
            f"external of '{loop}' has no {shown(unknown[0])}",
            hints=[f"one of: {', '.join(_FIELDS)}"],
        )
    lists = [_texts(loop, name, fields.get(name)) for name in _FIELDS[1:]]
    return External(function_name(fields["function"], loop), *lists)


def function_name(name: object, loop: str) -> str:
    """The name, if it is valid for a C function. Raises UserError otherwise."""
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name in _RESERVED:
        raise UserError(f"'{loop}' cannot call {shown(name)}: not a valid name in C")
    return name


def _texts(loop: str, name: str, given: object) -> tuple[str, ...]:
    texts = [given] if isinstance(given, str) else given or []
    if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
        raise UserError(f"{name} of the external function of '{loop}' are strings", hints=[_HINT])
    return tuple(texts)

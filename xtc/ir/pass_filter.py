# SPDX-License-Identifier: Apache-2.0
"""A filter for the passes whose results are shown: by name, or by whether they change the IR."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from xtc.core.errors import UserError, did_you_mean

_OPTIONS = re.compile(r"\{[^{}]*\}")
_NAME = re.compile(r"[a-zA-Z][\w.-]*")


@dataclass(frozen=True)
class PassFilter:
    """The passes whose results are shown.

    Attributes:
        names: the names of passes, MLIR's or the project's; empty for all.
        changes: omit the passes that do not change the IR.
    """

    names: tuple[str, ...] = ()
    changes: bool = False

    def takes(self, step: str, before: str, after: str) -> bool:
        """Whether to show the pass `step`, given the IR's text before and after it."""
        named = not self.names or not pass_names(step).isdisjoint(self.names)
        return named and not (self.changes and before == after)

    def require_in(self, steps: Collection[str]) -> None:
        """Raise UserError for a name that no step contains, which would show nothing."""
        known = {name for step in steps for name in pass_names(step)}
        for name in self.names:
            if name not in known:
                raise UserError(f"no pass '{name}' runs here", hints=did_you_mean(name, known))


def pass_names(step: str) -> frozenset[str]:
    """The names in a pass or pipeline text, `func.func(cse,canonicalize{top-down=false})`."""
    bare, count = _OPTIONS.subn("", step)
    return frozenset(_NAME.findall(bare)) if not count else pass_names(bare)

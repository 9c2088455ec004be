# SPDX-License-Identifier: Apache-2.0
"""Which passes of a pipeline are looked at: those of some names, or those that change the IR."""

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
        names: of passes, MLIR's and our own; empty for all.
        changes: leave out the passes that change nothing.
    """

    names: tuple[str, ...] = ()
    changes: bool = False

    def takes(self, step: str, before: str, after: str) -> bool:
        """Whether to show the pass printed as `step`, from the IR's text before and after it."""
        named = not self.names or not pass_names(step).isdisjoint(self.names)
        return named and not (self.changes and before == after)

    def require_in(self, steps: Collection[str]) -> None:
        """Raise UserError for a name that stands in no step, which would show nothing."""
        known = {name for step in steps for name in pass_names(step)}
        for name in self.names:
            if name not in known:
                raise UserError(f"no pass '{name}' runs here", hints=did_you_mean(name, known))


def pass_names(step: str) -> frozenset[str]:
    """Names in the text of a pass or a pipeline, `func.func(cse,canonicalize{top-down=false})`."""
    bare, count = _OPTIONS.subn("", step)
    return frozenset(_NAME.findall(bare)) if not count else pass_names(bare)

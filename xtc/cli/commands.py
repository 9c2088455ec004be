# SPDX-License-Identifier: Apache-2.0
"""Commands by name: files of `xtc/cli/`, and of `cli/` in the folder of a target.

The command `xtc cache` is `cache.py`: its docstring begins with "xtc cache: " and a line that says
what it does, and its function `run` takes the arguments and returns the exit code. A target's
command, such as `xtc null machine`, is `targets/null/cli/machine.py` in the same form. A file
is imported when its command is chosen.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from xtc.core.discover import (
    has_package,
    is_name,
    module_docstring,
    module_in,
    modules,
    target_package,
    targets,
)
from xtc.core.errors import UserError, XtcError, did_you_mean


@dataclass(frozen=True)
class Commands:
    """The commands in one package.

    Attributes:
        program: what they are typed after, `xtc` or `xtc <target>`.
        package: where their files are.
    """

    program: str
    package: str

    def summaries(self) -> dict[str, str]:
        """What each command does, by name."""
        found = {name: self._summary(name) for name in modules(self.package)}
        return {name: summary for name, summary in found.items() if summary}

    def has(self, name: str) -> bool:
        """Whether there is a command of that name."""
        return is_name(name) and name in modules(self.package) and bool(self._summary(name))

    def run(self, name: str, argv: Sequence[str]) -> int:
        """A command on its arguments; returns the exit code. Raises XtcError."""
        if not self.has(name):
            hints = did_you_mean(name, self.summaries())
            raise UserError(f"there is no command '{self.program} {name}'", hints=hints)
        run = getattr(module_in(self.package, name), "run", None)
        if run is None:
            raise XtcError(f"command '{self.program} {name}' has no function `run`")
        code: int = run(argv)
        return code

    def _summary(self, name: str) -> str:
        """The rest of a docstring's first line after the command's name; empty for other files."""
        first = module_docstring(self.package, name).partition("\n")[0]
        match = re.fullmatch(rf"{self.program}[ -]{name}: (.+?)\.?", first)
        return match[1] if match else ""


OWN = Commands("xtc", "xtc.cli")


def of_target(target: str) -> Commands | None:
    """The commands that a target brings; None where it has none, or there is no such target."""
    if not is_name(target) or target not in targets():
        return None
    package = f"{target_package(target)}.cli"
    return Commands(f"xtc {target}", package) if has_package(package) else None

# SPDX-License-Identifier: Apache-2.0
"""xtc: one command for all; `xtc compile ...` is `xtc-compile ...`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence

from xtc.cli import commands
from xtc.cli.commands import Commands
from xtc.cli.common import guarded
from xtc.core.discover import targets
from xtc.core.errors import UserError, did_you_mean
from xtc.core.versions import VERSION


def _parser(program: str, description: str, found: Mapping[str, str]) -> argparse.ArgumentParser:
    width = max(map(len, found), default=0)
    lines = [f"  {name:<{width}} {summary}" for name, summary in found.items()]
    parser = argparse.ArgumentParser(
        prog=program,
        usage=f"{program} COMMAND ...",
        description=description,
        epilog="\n".join(["commands, each with a --help of its own:", *lines]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", metavar="COMMAND", help="what to do")
    return parser


def run(argv: Sequence[str]) -> int:
    """The command on its arguments; returns the exit code. Raises XtcError."""
    name = argv[0] if argv else "--help"
    if name.startswith("-"):
        found = {**commands.OWN.summaries(), **dict(_of_targets())}
        parser = _parser("xtc", "Compile tensor graphs.", found)
        parser.add_argument("--version", action="version", version=f"xtc {VERSION}")
        parser.parse_args(argv[:1])
    if commands.OWN.has(name):
        return commands.OWN.run(name, argv[1:])
    brought = commands.of_target(name)
    if brought is None:
        known = [*commands.OWN.summaries(), *dict(_of_targets())]
        raise UserError(f"there is no command '{name}'", hints=did_you_mean(name, known))
    return _run_of_target(brought, argv[1:])


def _run_of_target(brought: Commands, argv: Sequence[str]) -> int:
    if not argv or argv[0].startswith("-"):
        _parser(brought.program, "What this target brings.", brought.summaries()).parse_args(argv)
    return brought.run(argv[0], argv[1:])


def _of_targets() -> Iterator[tuple[str, str]]:
    """The targets with commands, and the names of these."""
    for target in targets():
        brought = commands.of_target(target)
        if brought is not None:
            yield target, f"commands of the target: {', '.join(brought.summaries())}"


def main() -> int:
    """Entry point of `xtc`."""
    return guarded(run, "xtc")


if __name__ == "__main__":
    sys.exit(main())

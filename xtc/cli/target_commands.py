# SPDX-License-Identifier: Apache-2.0
"""Commands of targets: `xtc <target> <command>` calls `run` of a module in `commands/`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from types import ModuleType

from xtc.core import discover
from xtc.core.errors import UserError, XtcError, did_you_mean


def has_commands(target: str) -> bool:
    """Whether the target exists and has commands."""
    try:
        return bool(discover.target_commands(target))
    except XtcError:  # `xtc devices` reports the error
        return False


def run(target: str, argv: Sequence[str]) -> int:
    """A command of a target on its arguments; returns the exit code. Raises XtcError."""
    commands = discover.target_commands(target)
    command = _parser(target, commands).parse_args(argv[:1]).command
    if command not in commands:
        raise UserError(
            f"target '{target}' has no command '{command}'", hints=did_you_mean(command, commands)
        )
    code: int = commands[command].run(argv[1:])
    return code


def _parser(target: str, commands: Mapping[str, ModuleType]) -> argparse.ArgumentParser:
    lines = [f"  {name:<9} {_summary(module)}" for name, module in commands.items()]
    parser = argparse.ArgumentParser(
        prog=f"xtc {target}",
        usage=f"xtc {target} COMMAND ...",
        description=f"Commands of the target {target}.",
        epilog="\n".join(["commands (each has --help):", *lines]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", metavar="COMMAND", help="the command to run")
    return parser


def _summary(module: ModuleType) -> str:
    return (module.__doc__ or "").partition("\n")[0].rstrip(".")

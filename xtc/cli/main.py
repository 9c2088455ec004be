# SPDX-License-Identifier: Apache-2.0
"""xtc: one entry point for all commands; `xtc compile ...` is `xtc-compile ...`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from xtc.cli import target_commands
from xtc.cli.common import guarded
from xtc.core import discover
from xtc.core.errors import UserError, did_you_mean
from xtc.core.versions import VERSION


def _compile(argv: Sequence[str]) -> int:
    from xtc.cli import compile

    return compile.run(argv)


def _opt(argv: Sequence[str]) -> int:
    from xtc.cli import opt

    return opt.run(argv)


def _run(argv: Sequence[str]) -> int:
    from xtc.cli import run

    return run.run(argv)


def _loop(argv: Sequence[str]) -> int:
    from xtc.cli import loop

    return loop.run(argv)


def _tune(argv: Sequence[str]) -> int:
    from xtc.cli import tune

    return tune.run(argv)


def _plot(argv: Sequence[str]) -> int:
    from xtc.cli import plot

    return plot.run(argv)


def _cache(argv: Sequence[str]) -> int:
    from xtc.cli import cache

    return cache.run(argv)


def _devices(argv: Sequence[str]) -> int:
    from xtc.cli import devices

    return devices.run(argv)


# Each command imports its modules on use, so that only those that read MLIR load the bindings.
_COMMANDS: dict[str, tuple[Callable[[Sequence[str]], int], str]] = {
    "compile": (_compile, "print a stage of a graph's IR, or build an artifact"),
    "run": (_run, "compile a graph, check and measure it on sample data"),
    "opt": (_opt, "run passes, or a target's stages, on MLIR"),
    "loop": (_loop, "apply the schedules in an MLIR file; print, run, check, measure"),
    "tune": (_tune, "search for fast schedules for a graph"),
    "plot": (_plot, "plot the measurements of a search"),
    "cache": (_cache, "list or prune the artifact cache"),
    "devices": (_devices, "list the targets whose code can run here"),
}


def _parser() -> argparse.ArgumentParser:
    lines = [f"  {name:<9} {what}" for name, (_, what) in _COMMANDS.items()]
    parser = argparse.ArgumentParser(
        prog="xtc",
        usage="xtc COMMAND ...",
        description="Compile, run and tune tensor graphs.",
        epilog="\n".join(["commands (each has --help):", *lines, *_targets()]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", metavar="COMMAND", help="the command to run")
    parser.add_argument("--version", action="version", version=f"xtc {VERSION}")
    return parser


def _targets() -> list[str]:
    """Help text for targets with commands."""
    names = [name for name in discover.targets() if target_commands.has_commands(name)]
    return ["", f"targets with commands, `xtc TARGET COMMAND`: {', '.join(names)}"] if names else []


def run(argv: Sequence[str]) -> int:
    """The command on its arguments; returns the exit code. Raises XtcError."""
    command = _parser().parse_args(argv[:1]).command
    if command not in _COMMANDS and target_commands.has_commands(command):
        return target_commands.run(command, argv[1:])
    if command not in _COMMANDS:
        raise UserError(f"there is no command '{command}'", hints=did_you_mean(command, _COMMANDS))
    return _COMMANDS[command][0](argv[1:])


def main() -> int:
    """Entry point of `xtc`."""
    return guarded(run, "xtc")


if __name__ == "__main__":
    sys.exit(main())

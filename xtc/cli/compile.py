# SPDX-License-Identifier: Apache-2.0
"""xtc-compile: compile a graph to any stage of its IR, or to an artifact on disk."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from xtc.cli.common import (
    add_compile_options,
    chosen_graph,
    guarded,
    ir_options,
    parse_dims,
    parse_options,
    parse_passes,
    parse_schedule,
    parse_values,
    read_graph,
    write_output,
    write_times,
)
from xtc.core.errors import UserError
from xtc.driver import prepare
from xtc.driver.compilation import Compilation
from xtc.driver.default_schedules import schedule_in_use
from xtc.driver.folders import new_folder
from xtc.driver.fused_operators import fused_operators
from xtc.interfaces.artifact import Artifact
from xtc.ir.pipeline import STAGES


def _nests(compilation: Compilation) -> str:
    """The loop nests of all operators, with notes on fusion."""
    schedule, fused = schedule_in_use(compilation), fused_operators(compilation)
    lines = []
    for name in schedule.names:
        lines.append(f"{schedule[name]}\n")
        if fused.get(name):
            others = " and ".join(f"'{other}'" for other in fused[name])
            lines.append(f"  note: fused with {others}\n")
    return "".join(lines)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="xtc-compile",
        description="Compile a graph: print the IR of a stage, or build an artifact.",
    )
    add_compile_options(parser)
    parser.add_argument("--stage", choices=STAGES, help="print this stage instead of building")
    parser.add_argument(
        "--nest", action="store_true", help="print only the loop nests of all operators"
    )
    parser.add_argument(
        "--output", "-o", type=Path, help="file for the stage, or new folder for the artifact"
    )
    return parser


def run(argv: Sequence[str]) -> int:
    """The command on its arguments; returns the exit code. Raises XtcError."""
    args = _parser().parse_args(argv)
    compilation = prepare(
        read_graph(chosen_graph(args), parse_dims(args.dim), parse_values(args.value)),
        args.target,
        schedule=parse_schedule(args.schedule),
        ir=ir_options(args),
        passes=parse_passes(args.add_pass),
        **parse_options(args.option, args.target),
    )
    if args.nest:
        write_output(_nests(compilation), args.output)
    elif args.stage is not None:
        write_output(compilation.stage_text(args.stage), args.output)
    else:
        _build(compilation.build, args.output)
    if args.time_passes:
        write_times(compilation.runner.seconds)
    return 0


def _build(build: Callable[[Path], Artifact], folder: Path | None) -> None:
    if folder is None:
        raise UserError("nothing to do", hints=["--stage prints IR, --output names a folder"])
    with new_folder(folder) as filled:
        artifact = build(filled)
    sys.stdout.write(f"{folder}: {', '.join(sorted(artifact.manifest.files))}\n")


def main() -> int:
    """Entry point of `xtc-compile`."""
    return guarded(run, "xtc-compile")


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""xtc-opt: run passes, or a target's stages, on an MLIR file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from xtc.cli.common import (
    add_ir_options,
    add_target_options,
    guarded,
    ir_options,
    parse_options,
    write_output,
    write_times,
)
from xtc.cli.contained import add_limit_options, contained, read_mlir
from xtc.cli.pass_options import joined, steps
from xtc.core import discover
from xtc.core.errors import UserError
from xtc.driver.foreign import named_locations, parse_module
from xtc.ir import known_passes
from xtc.ir.pipeline import STAGES, Pipeline, Stage, Step

SEPARATOR = "// -----\n"

_EPILOG = """\
Every other option is a pass of xtc or of MLIR. Passes run in the order given:
  xtc-opt file.mlir --fuse-rows{limit=4096} --canonicalize
  xtc-opt file.mlir --pass-pipeline='builtin.module(func.func(cse))'
"""


class _ListPasses(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        sys.stdout.write("".join(f"{name}\n" for name in known_passes.names()))
        parser.exit()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="xtc-opt",
        description="Run passes, or a target's stages, on MLIR.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("file", type=Path, help="MLIR text; - is standard input")
    parser.add_argument("--output", "-o", type=Path, help="file for the result")
    parser.add_argument("--target", help="target whose stages to run, before the passes")
    parser.add_argument("--from", dest="start", metavar="STAGE", help="the stage of the file")
    parser.add_argument("--to", dest="end", metavar="STAGE", help="the last stage to run")
    add_target_options(parser)
    parser.add_argument(
        "--split-input-file",
        action="store_true",
        help=f"process the parts between {SEPARATOR.strip()} separately",
    )
    parser.add_argument(
        "--list-passes",
        action=_ListPasses,
        nargs=0,
        help="print the names of xtc's passes",
    )
    add_ir_options(parser)
    add_limit_options(parser)
    return parser


def run(argv: Sequence[str]) -> int:
    """The command on its arguments; returns the exit code. Raises XtcError."""
    args, passes = _parser().parse_known_args(joined(argv))
    text = read_mlir(args.file)
    write_output(contained(lambda: _results(args, passes, text), args, text, passes), args.output)
    return 0


def _results(args: argparse.Namespace, passes: Sequence[str], text: str) -> str:
    """The text to print; runs in the child process."""
    from xtc.ir import mlir

    runner = ir_options(args).runner()
    runner.source_name = str(args.file)
    results = []
    with mlir.single_threaded_context(), named_locations(str(args.file)):
        pipeline = _pipeline(args, steps(passes))
        for part in _parts(text, args.split_input_file):
            module = parse_module(part, str(args.file))
            runner.run(module, pipeline)
            results.append(str(module))
    if args.time_passes:
        write_times(runner.seconds)
    return SEPARATOR.join(results)


def _pipeline(args: argparse.Namespace, passes: Sequence[Step]) -> Pipeline:
    own = Stage("passes", tuple(passes))
    if args.target is None:
        if args.start or args.end or args.option:
            raise UserError("--from, --to and --option need --target, whose stages are to run")
        return Pipeline((own,))
    target = discover.target(args.target)
    pipeline: Pipeline = target.pipeline(target.options(**parse_options(args.option, args.target)))
    wanted = pipeline.until(args.end or pipeline.stages[-1].name)
    if args.start is not None:
        rest = pipeline.after(args.start)
        if STAGES.index(args.start) > STAGES.index(wanted.stages[-1].name):
            raise UserError(f"stage '{args.start}' comes after stage '{args.end}'")
        wanted = Pipeline(tuple(stage for stage in wanted.stages if stage in rest.stages))
    return Pipeline((*wanted.stages, own))


def _parts(text: str, split: bool) -> list[str]:
    """The parts of a file, each padded with empty lines to keep its line numbers."""
    if not split:
        return [text]
    parts: list[str] = []
    lines = 0
    for part in text.split(SEPARATOR):
        parts.append("\n" * lines + part)
        lines += part.count("\n") + 1
    return parts


def main() -> int:
    """Entry point of `xtc-opt`."""
    return guarded(run, "xtc-opt")


if __name__ == "__main__":
    sys.exit(main())

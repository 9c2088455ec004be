# SPDX-License-Identifier: Apache-2.0
"""xtc-opt: run passes, or a target's stages, on a file of MLIR."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from xtc.cli.common import (
    add_ir_options,
    guarded,
    parse_options,
    write_output,
    write_times,
)
from xtc.core import discover, mlir
from xtc.core.errors import CompileError, UserError
from xtc.core.passes import split_pass
from xtc.core.pipeline import Pipeline, Stage, Step, diagnostics
from xtc.driver import IrOptions

SEPARATOR = "// -----"

_EPILOG = """\
Every other option is a pass, run in the order given: our own and MLIR's, as in
  xtc-opt file.mlir --fuse-rows{limit=4096} --canonicalize
  xtc-opt file.mlir --pass-pipeline='builtin.module(func.func(cse))'
"""


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
    parser.add_argument("--target", help="whose stages to run")
    parser.add_argument("--from", dest="start", metavar="STAGE", help="the stage the file is at")
    parser.add_argument("--to", dest="end", metavar="STAGE", help="the last stage to run")
    parser.add_argument(
        "--option",
        "-O",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the target",
    )
    parser.add_argument(
        "--split-input-file", action="store_true", help=f"handle parts between {SEPARATOR} alone"
    )
    parser.add_argument("--list-passes", action="store_true", help="names of our own passes")
    add_ir_options(parser)
    return parser


def run(argv: Sequence[str]) -> int:
    """The command on its arguments; returns the exit code. Raises XtcError."""
    if "--list-passes" in argv:
        sys.stdout.write("\n".join(sorted(discover.passes())) + "\n")
        return 0
    args, others = _parser().parse_known_args(argv)
    pipeline = _pipeline(args, [_step(text) for text in others])
    text = _read(args.file)
    parts = text.split(f"{SEPARATOR}\n") if args.split_input_file else [text]
    runner = IrOptions(args.dump_dir, args.print_ir_after_all, args.time_passes).runner()
    results = []
    for part in parts:
        with mlir.Context():
            module = _parse(part, args.file)
            runner.run(module, pipeline)
            results.append(str(module))
    write_output(f"{SEPARATOR}\n".join(results), args.output)
    if args.time_passes:
        write_times(runner.seconds)
    return 0


def _pipeline(args: argparse.Namespace, steps: Sequence[Step]) -> Pipeline:
    if args.target is None:
        return Pipeline((Stage("passes", tuple(steps)),))
    target = discover.target(args.target)
    pipeline: Pipeline = target.pipeline(target.options(**parse_options(args.option)))
    if args.end is not None:
        pipeline = pipeline.until(args.end)
    if args.start is not None:
        pipeline = pipeline.after(args.start)
    return Pipeline((*pipeline.stages, Stage("passes", tuple(steps))))


def _step(text: str) -> Step:
    """A pass from its option: our own where there is one of that name, else MLIR's."""
    if text.startswith("--pass-pipeline="):
        inner = text.removeprefix("--pass-pipeline=").strip()
        if not (inner.startswith("builtin.module(") and inner.endswith(")")):
            raise UserError(f"pipeline {inner!r} is not of the form builtin.module(...)")
        return inner.removeprefix("builtin.module(").removesuffix(")")
    if not text.startswith("--") or text == "--":
        raise UserError(f"{text!r} is neither an option nor a pass")
    option = (
        text.removeprefix("--").replace("=", "{", 1) + "}" if _is_mlir_style(text) else text[2:]
    )
    name, options = split_pass(option)
    own = discover.passes().get(name)
    return own.parse_options(options) if own is not None else option


def _is_mlir_style(text: str) -> bool:
    """mlir-opt writes `--pass=option=value`, which means the same as `--pass{option=value}`."""
    return "{" not in text and "=" in text


def _read(path: Path) -> str:
    try:
        return sys.stdin.read() if str(path) == "-" else path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read {path}: {error}") from None


def _parse(text: str, path: Path) -> mlir.Operation:
    try:
        return mlir.Module.parse(text).operation
    except mlir.MLIRError as error:
        raise CompileError("this is not valid MLIR", where=path, notes=diagnostics(error)) from None


def main() -> int:
    """Entry point of `xtc-opt`."""
    return guarded(run, "xtc-opt")


if __name__ == "__main__":
    sys.exit(main())

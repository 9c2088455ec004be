# SPDX-License-Identifier: Apache-2.0
"""xtc-loop: apply the schedules in an MLIR file; print, compile, check and measure the result.

A schedule is an attribute of an operation:

    linalg.matmul {loop.dims = ["i", "j", "k"],
                   loop.schedule = {"j", "k", "i", "i#4" = {"unroll"}, "j#16" = {"vectorize"}}} ...
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xtc.cli.common import (
    add_ir_options,
    add_target,
    add_target_options,
    guarded,
    ir_options,
    parse_options,
    write_output,
    write_times,
)
from xtc.cli.contained import add_limit_options, contained, read_mlir
from xtc.core.errors import UserError
from xtc.driver.assignment import program_target
from xtc.driver.foreign import named_locations, parse_module
from xtc.driver.mlir_function import MlirFunction, arguments_of, find_function, name_of
from xtc.ir import known_passes
from xtc.ir.attributes import LOOP_SCHEDULE
from xtc.ir.pipeline import STAGES, run_steps
from xtc.loops import nest_text

if TYPE_CHECKING:
    from xtc.ir.mlir import Operation

_TO_SOURCE, _APPLY = "memref-signature", "apply-schedules"
_EXAMPLE = f'{LOOP_SCHEDULE} = {{"i", "j", "j#16" = {{"vectorize"}}}}'


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="xtc-loop",
        description="Apply the schedules attached to linalg operations in an MLIR file.",
        allow_abbrev=False,
    )
    parser.add_argument("file", type=Path, help="MLIR text; - is standard input")
    parser.add_argument("--nest", action="store_true", help="print the loop nests")
    parser.add_argument("--stage", choices=STAGES, help="print this stage")
    parser.add_argument(
        "--run", action="store_true", help="run it and compare it with the unscheduled code"
    )
    parser.add_argument("--measure", action="store_true", help="time it")
    parser.add_argument("--function", metavar="NAME", help="the function, if there are several")
    parser.add_argument("--repeat", type=int, default=10, help="samples to take (default: 10)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the sample data (default: 0)")
    parser.add_argument("--output", "-o", type=Path, help="file for the output")
    add_target(parser)
    add_target_options(parser)
    add_ir_options(parser)
    add_limit_options(parser)
    return parser


def run(argv: Sequence[str]) -> int:
    """The command on its arguments; returns the exit code. Raises XtcError."""
    args = _parser().parse_args(argv)
    if not (args.nest or args.stage or args.run or args.measure):
        raise UserError("nothing to do", hints=["--nest, --stage, --run or --measure"])
    text = read_mlir(args.file)
    options = [word for word in argv if word != "-"]
    result = contained(
        lambda: _results(args, text), args, text, options, program="xtc-loop", what="compiling"
    )
    write_output(result, args.output)
    return 0


def _results(args: argparse.Namespace, text: str) -> str:
    """The text to print; runs in the child process."""
    from xtc.ir import mlir

    target = program_target(args.target)
    options = target.options(**parse_options(args.option, args.target))
    with mlir.single_threaded_context(), named_locations(str(args.file)):
        module = parse_module(text, str(args.file))
        run_steps(module, [known_passes.passes()[_TO_SOURCE]()], str(args.file))
        found = _nests(module, args.function, needed=args.nest)
        printed = [nest_text(entry.nest, entry.title) for entry in found] if args.nest else []
        if args.stage or args.run or args.measure:
            own = find_function(module, args.function)
            parts = [entry for entry in found if entry.function == name_of(own)]
            function = MlirFunction(module, name_of(own), arguments_of(own), target, options)
            if args.run or args.measure:
                _check_own_code(parts)
            flops = sum(entry.flops for entry in parts)
            reduction = max((entry.nest.space.reduced for entry in parts), default=1)
            printed += _outcomes(replace(function, flops=flops, reduction=reduction), args)
    return "".join(f"{part.rstrip()}\n" for part in printed)


def _nests(module: Operation, function: str | None, *, needed: bool) -> list[Any]:
    """The scheduled operations of one function or of all functions.

    Raises UserError if there are none although `needed`; otherwise the target chooses schedules.
    """
    from xtc.ir.mlir import copied

    if function is not None:
        find_function(module, function)
    apply: Any = known_passes.passes()[_APPLY]()
    scheduled: list[Any] = apply.nests(copied(module))
    found = [entry for entry in scheduled if function in (None, entry.function)]
    if not found and needed:
        where = "the file" if function is None else f"'{function}'"
        raise UserError(f"no operator of {where} has {LOOP_SCHEDULE}", hints=[_EXAMPLE])
    return found


def _check_own_code(parts: Sequence[Any]) -> None:
    """Raise UserError if a schedule in the file calls a function, which may access any memory."""
    for entry in parts:
        for loop in (loop for nest in entry.nest.walk() for loop in nest.loops):
            if loop.external is not None:
                raise UserError(
                    f"'{loop.name}' of {entry.title} calls '{loop.external.function}', which is "
                    "not run: its memory accesses are unknown",
                    hints=["xtc.compile runs graphs whose schedules call functions"],
                )


def _outcomes(function: MlirFunction, args: argparse.Namespace) -> list[str]:
    """The requested outputs for one function."""
    printed = []
    if args.stage:
        runner = ir_options(args).runner()
        runner.source_name = str(args.file)
        printed.append(function.stage_text(args.stage, runner))
        if args.time_passes:
            write_times(runner.seconds)
    if args.run:
        plain = replace(function, module=_without_schedules(function.module))
        printed += [f"check {entry}" for entry in function.check(plain, args.seed)]
    if args.measure:
        printed.append(f"measure {function.measure(args.seed, args.repeat)}")
    return printed


def _without_schedules(module: Operation) -> Operation:
    from xtc.ir.mlir import all_operations, copied

    plain = copied(module)
    for op in all_operations(plain):
        if LOOP_SCHEDULE in op.attributes:
            del op.attributes[LOOP_SCHEDULE]
    return plain


def main() -> int:
    """Entry point of `xtc-loop`."""
    return guarded(run, "xtc-loop")


if __name__ == "__main__":
    sys.exit(main())

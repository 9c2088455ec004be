# SPDX-License-Identifier: Apache-2.0
"""xtc-run: compile a graph, then check and measure it on sample data."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from xtc.cli.common import (
    add_compile_options,
    chosen_graph,
    guarded,
    parse_dims,
    parse_options,
    parse_passes,
    parse_schedule,
    parse_values,
    read_graph,
    write_times,
)
from xtc.cli.model_check import compare_with_file
from xtc.driver import Module, compile
from xtc.importers import from_onnx


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="xtc-run", description="Compile a graph and run it on sample data."
    )
    add_compile_options(parser)
    parser.add_argument("--check", action="store_true", help="compare with the NumPy reference")
    parser.add_argument("--measure", action="store_true", help="measure the time of a call")
    parser.add_argument("--profile", action="store_true", help="profile it by operator")
    parser.add_argument(
        "--timeline",
        type=Path,
        help="write --profile's timeline: JSON for Perfetto, a picture as .svg",
    )
    parser.add_argument("--repeat", type=int, default=10, help="samples to take (default: 10)")
    parser.add_argument("--number", type=int, help="calls per sample (default: automatic)")
    parser.add_argument("--min-repeat-ms", type=float, default=0, help="shortest time of a sample")
    parser.add_argument("--counters", default="", help="hardware counters, separated by commas")
    parser.add_argument("--rtol", type=float, help="relative tolerance of --check")
    parser.add_argument("--atol", type=float, help="absolute tolerance of --check")
    parser.add_argument("--no-cache", action="store_true", help="do not use the artifact cache")
    parser.add_argument("--seed", type=int, default=0, help="seed of the sample data (default: 0)")
    return parser


def run(argv: Sequence[str]) -> int:
    """The command on its arguments; returns the exit code. Raises XtcError."""
    args = _parser().parse_args(argv)
    with compile(
        read_graph(chosen_graph(args), parse_dims(args.dim), parse_values(args.value)),
        args.target,
        schedule=parse_schedule(args.schedule),
        dump_dir=args.dump_dir,
        print_ir_after_all=args.print_ir_after_all,
        print_ir_after=args.print_ir_after,
        print_ir_after_change=args.print_ir_after_change,
        passes=parse_passes(args.add_pass),
        time_passes=args.time_passes,
        cache=not args.no_cache,
        **parse_options(args.option, args.target),
    ) as module:
        _report(module, args)
        if args.time_passes:
            write_times(module.compile_seconds)
    return 0


def _report(module: Module, args: argparse.Namespace) -> None:
    profiled = args.profile or args.timeline is not None
    if args.check or not (args.measure or profiled):
        for comparison in module.check(rtol=args.rtol, atol=args.atol, seed=args.seed):
            sys.stdout.write(f"check {comparison}\n")
        if args.graph.suffix == ".onnx":
            _check_file(module, args)
    if args.measure:
        measurement = module.measure(
            repeat=args.repeat,
            number=args.number,
            min_repeat_ms=args.min_repeat_ms,
            counters=[name for name in args.counters.split(",") if name],
            seed=args.seed,
        )
        sys.stdout.write(f"measure {measurement}\n")
    if profiled:
        found = module.profile(repeat=args.repeat, seed=args.seed)
        sys.stdout.write(found.table())
        if args.timeline is not None:
            found.save_timeline(args.timeline)


def _check_file(module: Module, args: argparse.Namespace) -> None:
    """Compare with another implementation of the file, to check the import."""
    model = from_onnx(args.graph, values=parse_values(args.value))
    comparisons, peer = compare_with_file(module, model, seed=args.seed)
    for comparison in comparisons:
        sys.stdout.write(f"check against {peer}: {comparison}\n")


def main() -> int:
    """Entry point of `xtc-run`."""
    return guarded(run, "xtc-run")


if __name__ == "__main__":
    sys.exit(main())

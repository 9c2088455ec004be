# SPDX-License-Identifier: Apache-2.0
"""`cslc`: compiles a CSL program for the simulated wafer."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from xtc.core.errors import UserError, XtcError, did_you_mean
from xtc_targets.wse.build import Request, compile_program
from xtc_targets.wse.csl.errors import FormerProgramError
from xtc_targets.wse.description import ARCHITECTURES, DEFAULT, WSE2

_IGNORED = ("--channels", "--width-west-buf", "--width-east-buf", "--max-inlined-iterations",
            "--max-parallelism")  # fmt: skip


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="cslc", description="Compile CSL for the simulated wafer.", allow_abbrev=False
    )
    parser.add_argument("layout", type=Path, help="the file with the layout block")
    parser.add_argument("-o", "--output", default="out", help="folder to write (default: out)")
    parser.add_argument(
        "--arch", help="wse2 or wse3 (default: wse3, wse2 for programs from before SDK 1.1)"
    )
    parser.add_argument("--fabric-dims", help="width,height of the fabric")
    parser.add_argument("--fabric-offsets", help="x,y of the program in it")
    parser.add_argument("--params", action="append", default=[], help="name:value,...")
    parser.add_argument("--colors", action="append", default=[], help="name:number,...")
    parser.add_argument("--memcpy", action="store_true", help="with a runtime for the host")
    parser.add_argument(
        "--import-path", action="append", default=[], help="additional folder of modules"
    )
    for name in ("--verbose", "--warnings-as-errors"):
        parser.add_argument(name, action="store_true", help="accepted, without effect")
    for name in _IGNORED:
        parser.add_argument(name, help="accepted, without effect on a simulated wafer")
    return parser


def _pair(text: str | None, option: str) -> tuple[int, int] | None:
    if text is None:
        return None
    try:
        first, second = (int(part) for part in text.split(","))
    except ValueError:
        raise UserError(f"{option}={text} is not two numbers", hints=[f"{option}=8,3"]) from None
    return first, second


def _named(texts: Sequence[str], option: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in (part for text in texts for part in text.split(",") if part):
        name, colon, value = part.partition(":")
        if not colon or not name.isidentifier():
            raise UserError(f"{option}={part} is not name:value")
        found[name] = value
    return found


def request_of(argv: Sequence[str]) -> Request:
    """Parse a command line. Raises UserError."""
    return _requested(_parser().parse_args(list(argv)))


def _requested(given: argparse.Namespace) -> Request:
    arch = DEFAULT.name if given.arch is None else given.arch
    if arch not in ARCHITECTURES:
        raise UserError(
            f"there is no architecture {arch!r}", hints=did_you_mean(arch, ARCHITECTURES)
        )
    return Request(
        given.layout.resolve(),
        Path(given.output.removeprefix("=")),
        ARCHITECTURES[arch],
        _named(given.params, "--params"),
        _named(given.colors, "--colors"),
        _pair(given.fabric_dims, "--fabric-dims"),
        _pair(given.fabric_offsets, "--fabric-offsets"),
        given.memcpy,
        tuple(Path(each).resolve() for each in given.import_path),
    )


def _compiled(argv: Sequence[str]) -> Iterable[str]:
    """Compile; return the lines that the program prints. Raises XtcError.

    Scripts from before SDK 1.1 name no architecture, because there was only WSE-2.
    """
    given = _parser().parse_args(list(argv))
    request = _requested(given)
    try:
        return compile_program(request)
    except FormerProgramError as error:
        if given.arch is not None:
            raise
        said = compile_program(replace(request, arch=WSE2))
        return [f"cslc: compiled for wse2: {error.what}, as before SDK 1.1", *said]


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    try:
        for line in _compiled(sys.argv[1:] if argv is None else argv):
            print(line)
    except XtcError as error:
        print(f"cslc: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

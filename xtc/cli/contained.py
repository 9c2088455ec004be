# SPDX-License-Identifier: Apache-2.0
"""Runs commands on untrusted MLIR text in a child process."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from xtc.core.errors import ChildDied, UserError
from xtc.driver.foreign import check_text, input_kept
from xtc.system.sandbox import Limits, run_in_child

_GIB = 1 << 30
_HINT = "raise --timeout or --memory-limit; --dump-dir shows the last pass"


def add_limit_options(parser: argparse.ArgumentParser) -> None:
    """Add the limits of the child process."""
    usual = Limits()
    parser.add_argument(
        "--timeout",
        type=float,
        default=usual.seconds,
        metavar="SECONDS",
        help="stop after this time (default: %(default)g)",
    )
    parser.add_argument(
        "--memory-limit",
        type=float,
        default=usual.memory_bytes / _GIB,
        metavar="GIB",
        help="stop above this memory use (default: %(default)g)",
    )


def read_mlir(path: Path) -> str:
    """The text of a file, or of standard input for "-". Raises UserError if it is not text."""
    try:
        text = sys.stdin.read() if str(path) == "-" else path.read_text()
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {path}: {error}") from None
    check_text(text, path)
    return text


def contained(
    work: Callable[[], str],
    args: argparse.Namespace,
    text: str,
    options: Sequence[str],
    *,
    program: str = "xtc-opt",
    what: str = "running passes on",
) -> str:
    """The result of `work` on the text of `args.file`, within the limits of the options.

    Raises ChildDied if it crashed or exceeded a limit; errors of `work` pass through. On an error,
    text from standard input is kept in a file, and the error gives the command that runs `program`
    on it again with `options`.
    """
    limits = _limits(args)
    try:
        with input_kept(text if str(args.file) == "-" else None, options, program):
            return run_in_child(work, limits, what=f"{what} {args.file}", echo=True)
    except ChildDied as error:
        error.hints = (*error.hints, _HINT)
        raise


def _limits(args: argparse.Namespace) -> Limits:
    if not math.isfinite(args.memory_limit):
        raise UserError(f"a memory limit of {args.memory_limit} GiB")
    return Limits(args.timeout, int(args.memory_limit * _GIB))

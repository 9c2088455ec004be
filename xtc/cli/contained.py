# SPDX-License-Identifier: Apache-2.0
"""Commands that read MLIR text that may be anything: their work is done in a child process."""

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
_HINT = "--timeout and --memory-limit allow more; --dump-dir shows how far it comes"


def add_limit_options(parser: argparse.ArgumentParser) -> None:
    """Limits of the child process."""
    usual = Limits()
    parser.add_argument(
        "--timeout",
        type=float,
        default=usual.seconds,
        metavar="SECONDS",
        help="end the work after this time (default: %(default)g)",
    )
    parser.add_argument(
        "--memory-limit",
        type=float,
        default=usual.memory_bytes / _GIB,
        metavar="GIB",
        help="end the work where it needs more memory (default: %(default)g)",
    )


def read_mlir(path: Path) -> str:
    """The text of a file, or of standard input for "-". Raises UserError if it is unfit."""
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
    """The result of `work` on what was read from `args.file`, within the limits of the options.

    Raises ChildDied if it crashed or came to a limit, and XtcError as `work` does. What came
    from standard input is kept then, and the error says how to run `program` on it again, with
    `options`.
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

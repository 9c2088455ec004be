# SPDX-License-Identifier: Apache-2.0
"""xtc null machine: print the parameters of the machine."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Sequence

from xtc_targets.null.description import NULL


def run(argv: Sequence[str]) -> int:
    """The command on its arguments; returns the exit code."""
    argparse.ArgumentParser(
        prog="xtc null machine", description="Print the parameters of the machine."
    ).parse_args(argv)
    for name, value in dataclasses.asdict(NULL).items():
        sys.stdout.write(f"{name} {value}\n")
    return 0

# SPDX-License-Identifier: Apache-2.0
"""xtc devices: list the targets, with the reason if one cannot run here."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from xtc.driver import devices


def run(argv: Sequence[str]) -> int:
    """The command on its arguments; returns the exit code."""
    argparse.ArgumentParser(
        prog="xtc devices", description="List the targets whose code can run on this machine."
    ).parse_args(argv)
    for status in devices():
        sys.stdout.write(f"{status}\n")
    return 0

# SPDX-License-Identifier: Apache-2.0
"""xtc devices: the targets there are, and why one cannot run here."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from xtc.driver import devices


def run(argv: Sequence[str]) -> int:
    """The command on its arguments; returns the exit code."""
    argparse.ArgumentParser(
        prog="xtc devices", description="Say which targets' code can run on this machine."
    ).parse_args(argv)
    for status in devices():
        sys.stdout.write(f"{status}\n")
    return 0

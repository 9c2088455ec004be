# SPDX-License-Identifier: Apache-2.0
"""Replaces FileCheck in a lit test's RUN line, and keeps the input of FileCheck.

Usage: keep_output.py FOLDER TEST_FILE [FileCheck's options]. Writes FOLDER/PREFIX for each prefix
that the options name (CHECK by default).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def prefixes(options: list[str]) -> list[str]:
    """The check prefixes named in FileCheck's command line."""
    parser = argparse.ArgumentParser(allow_abbrev=False, add_help=False)
    for option in ("check-prefix", "check-prefixes"):
        parser.add_argument(f"-{option}", f"--{option}", dest="named", action="append")
    named = parser.parse_known_args(options)[0].named or ["CHECK"]
    return [prefix for names in named for prefix in names.split(",")]


def main(arguments: list[str]) -> int:
    """Keep standard input under the name of each prefix."""
    folder, *options = arguments
    if any(option.lstrip("-").startswith("input-file") for option in options):
        print("a RUN line with --input-file cannot be refreshed: pipe into FileCheck instead")
        return 1
    text = sys.stdin.read()
    for prefix in prefixes(options):
        (Path(folder) / prefix).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

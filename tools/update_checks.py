# SPDX-License-Identifier: Apache-2.0
"""Refreshes the golden CHECK lines of lit tests: update_checks.py TEST [TEST ...].

A golden block is a marker comment and the CHECK lines right below it:

    // GOLDEN
    // CHECK:      func.func @f
    // CHECK-NEXT:   return

The test runs as in lit, up to FileCheck; its whole output becomes the block. CHECK lines
elsewhere in the file are unchanged. `GOLDEN LOW` marks the block of `--check-prefix=LOW`.
SSA names are kept as printed. A block is a first draft: remove lines that the test does not
need, and review the difference.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

MARKER = re.compile(r"^(?P<lead>\s*(?://|#)\s*)GOLDEN(?:\s+(?P<prefix>[\w-]+))?\s*$")
SPECIAL = re.compile(r"\{\{|\[\[")


class UpdateError(Exception):
    """The test could not be updated; nothing was written."""


def check_lines(output: str, prefix: str, lead: str) -> list[str]:
    """The CHECK lines, each after `lead`, that match `output` from its first line to its last."""
    lines: list[str] = []
    width = len(f"{prefix}-EMPTY:")
    for text in output.strip("\n").splitlines():
        kind = f"{prefix}-NEXT" if lines else prefix
        if not text.strip():
            lines.append(f"{lead}{prefix}-EMPTY:")
        else:
            literal = "{LITERAL}" if SPECIAL.search(text) else ""
            lines.append(f"{lead}{f'{kind}{literal}:':<{width}} {text.rstrip()}")
    return lines


def refresh(text: str, outputs: dict[str, str]) -> str:
    """`text` with each golden block replaced; `outputs` has the output that each prefix checks.

    Raises UpdateError if there is no block, or no RUN line checks a block's prefix.
    """
    result: list[str] = []
    block: re.Pattern[str] | None = None
    blocks = 0
    for line in text.splitlines():
        if block and block.match(line):
            continue
        result.append(line)
        found = MARKER.match(line)
        block = None
        if found:
            prefix = found["prefix"] or "CHECK"
            if not outputs.get(prefix, "").strip():
                raise UpdateError(
                    f"no RUN line that runs here pipes anything into FileCheck for {prefix}"
                )
            result += check_lines(outputs[prefix], prefix, found["lead"])
            block = re.compile(rf"^\s*(//|#)\s*{prefix}(-[A-Z]+)?(\{{LITERAL\}})?:")
            blocks += 1
    if not blocks:
        raise UpdateError("no GOLDEN marker: write one where the block belongs")
    return "\n".join(result) + "\n"


def run_lit(test: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run one lit test with the lit of this interpreter."""
    program = "from lit.main import main; main()"
    command = [sys.executable, "-c", program, "-v", "--no-progress-bar", *options, str(test)]
    return subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603


def outputs_of(test: Path) -> dict[str, str]:
    """The input of FileCheck in each RUN line of `test`, by check prefix."""
    with tempfile.TemporaryDirectory() as folder:
        ran = run_lit(test, "--param", f"golden={folder}")
        if ran.returncode:
            raise UpdateError(f"the test's own commands fail:\n{ran.stdout}{ran.stderr}")
        return {file.name: file.read_text() for file in Path(folder).iterdir()}


def update(test: Path) -> None:
    """Refresh the golden blocks of one lit test, then run it as it stands."""
    fresh = refresh(test.read_text(), outputs_of(test))
    test.write_text(fresh)
    ran = run_lit(test)
    if ran.returncode:
        raise UpdateError(f"refreshed, but a CHECK line outside the block fails:\n{ran.stdout}")


def main(arguments: list[str]) -> int:
    """Refresh each test named; 0 when all were."""
    failures = 0
    for name in arguments:
        try:
            update(Path(name))
            print(f"{name}: refreshed; review the difference, and remove needless lines")
        except (UpdateError, OSError) as error:
            failures += 1
            print(f"{name}: {error}", file=sys.stderr)
    return min(failures, 1)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))

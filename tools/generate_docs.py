# SPDX-License-Identifier: Apache-2.0
"""Writes the documents that are made from the code: generate_docs.py [ROOT]."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from xtc.core.knobs import KNOBS

ROOT = Path(__file__).resolve().parents[1]
NOTICE = "<!-- Made from the code by `make docs`: change the code instead. -->\n"


def table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """A Markdown table."""
    lines = [heads, tuple("---" for _ in heads), *rows]
    cells = [[cell.replace("|", "&#124;") for cell in line] for line in lines]
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)


def knobs_page() -> str:
    """The table of environment variables."""
    rows = [
        (f"`{knob.name}`", "" if knob.default is None else f"`{knob.default}`", knob.help)
        for _, knob in sorted(KNOBS.items())
    ]
    return (
        f"{NOTICE}\n# Environment variables\n\n"
        "Each is read when it is asked for; an empty value counts as unset.\n\n"
        f"{table(('name', 'default', 'what it does'), rows)}"
    )


PAGES: dict[str, Callable[[], str]] = {"docs/knobs.md": knobs_page}


def stale_pages(root: Path) -> list[str]:
    """The pages whose file is not what the code says."""
    return [
        name
        for name, page in PAGES.items()
        if not (root / name).is_file() or (root / name).read_text() != page()
    ]


def main(root: Path = ROOT) -> None:
    """Write the pages that are stale."""
    for name in stale_pages(root):
        (root / name).write_text(PAGES[name]())
        print(f"wrote {name}")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))

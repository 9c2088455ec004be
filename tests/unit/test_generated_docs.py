# SPDX-License-Identifier: Apache-2.0
"""The documents made from the code say what the code says."""

from __future__ import annotations

from pathlib import Path

from tools.generate_docs import PAGES, main, stale_pages, table

ROOT = Path(__file__).parents[2]


def test_no_page_is_stale() -> None:
    assert stale_pages(ROOT) == [], "run `make docs`"


def test_a_stale_page_is_found_and_rewritten(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    assert stale_pages(tmp_path) == list(PAGES)
    main(tmp_path)
    assert stale_pages(tmp_path) == []
    page = tmp_path / "docs" / "knobs.md"
    page.write_text(page.read_text() + "by hand\n")
    assert stale_pages(tmp_path) == ["docs/knobs.md"]


def test_a_cell_cannot_break_its_table() -> None:
    assert table(("a", "b"), [("x|y", "z")]).splitlines()[-1] == "| x&#124;y | z |"

# SPDX-License-Identifier: Apache-2.0
"""The generated pages are up to date."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from tools.generate_docs import PAGES, main, pass_section, stale_pages, table
from xtc.ir.mlir import Operation
from xtc.ir.passes import Pass

ROOT = Path(__file__).parents[2]


def test_no_page_is_stale() -> None:
    assert stale_pages(ROOT) == [], "run `make docs`"


def test_a_stale_page_is_detected_and_rewritten(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    assert stale_pages(tmp_path) == list(PAGES)
    main(tmp_path)
    assert stale_pages(tmp_path) == []
    page = tmp_path / "docs" / "knobs.md"
    page.write_text(page.read_text() + "by hand\n")
    assert stale_pages(tmp_path) == ["docs/knobs.md"]


def test_a_cell_cannot_break_its_table() -> None:
    assert table(("a", "b"), [("x|y", "z")]).splitlines()[-1] == "| x&#124;y | z |"


@dataclass(frozen=True)
class TileForCache(Pass):
    """Tile the outer loops."""

    name: ClassVar[str] = "tile-for-cache"
    levels: int
    row_count: int = 8

    def run(self, module: Operation) -> None:
        raise NotImplementedError


TileForCache.__module__ = "xtc_targets.null.passes.tile_for_cache"


def test_a_pass_is_described_with_options_and_file() -> None:
    assert pass_section(TileForCache).split("\n") == [
        "",
        "## tile-for-cache",
        "",
        "Tile the outer loops.",
        "",
        "| option | type | default |",
        "| --- | --- | --- |",
        "| `levels` | `int` | required |",
        "| `row-count` | `int` | `8` |",
        "",
        "In `targets/null/passes/tile_for_cache.py`.",
        "",
    ]

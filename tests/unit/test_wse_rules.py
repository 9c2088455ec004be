# SPDX-License-Identifier: Apache-2.0
"""The rules of the simulated wafer: numbered, with a source, and with an existing test."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "wse-semantics.md"
FOLDERS = (ROOT / "tests" / "filecheck" / "targets" / "wse", ROOT / "tests" / "unit")
ROWS = re.findall(r"^\| (\d+) \| (.+?) \| (.+?) \| `(.+?)` \|$", PAGE.read_text(), re.MULTILINE)


def test_the_rules_are_numbered_without_a_gap() -> None:
    assert [int(number) for number, *_ in ROWS] == list(range(1, len(ROWS) + 1))
    assert len(ROWS) == PAGE.read_text().count("\n| ") - 1


@pytest.mark.parametrize(("rule", "test"), [(rule, test) for _, rule, _, test in ROWS])
def test_each_rule_has_its_test(rule: str, test: str) -> None:
    assert any((folder / test).is_file() for folder in FOLDERS), rule


def test_every_lit_test_covers_a_rule_or_the_language() -> None:
    named = {test for *_, test in ROWS} | {
        "run/language.test",
        "run/collectives.test",
        "run/commands.test",
    }
    there = {path.relative_to(FOLDERS[0]).as_posix() for path in FOLDERS[0].rglob("*.test")}
    assert there <= named

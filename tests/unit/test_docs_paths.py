# SPDX-License-Identifier: Apache-2.0
"""Every repository path that a document names exists."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.document_paths import missing_paths

ROOT = Path(__file__).parents[2]


def test_every_path_in_the_documents_exists() -> None:
    assert missing_paths(ROOT) == []


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("xtc/driver.py", "targets/null/pipeline.py", "docs/walk.md", "setup.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


@pytest.mark.parametrize(
    "text",
    [
        "`xtc/driver.py`",
        "`xtc/driver.py::compile` and `xtc/driver.py:12`",
        "`xtc/`",
        "`targets/<t>/pipeline.py`",
        "`targets/*/pipeline.py`",
        "`xtc/{driver,driver}.py`",
        "[walk](walk.md#here)",
        "[page](https://example.org/xtc/nowhere.py)",
        "`n/a`, `--flag/xtc`, `make check`, `pipeline.py`, `a/b.py`, `xtc.core`",
        "```\n`xtc/fenced.py`\n```",
    ],
)
def test_existing_paths_pass(tree: Path, text: str) -> None:
    (tree / "docs" / "page.md").write_text(text)
    assert missing_paths(tree) == []


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("`xtc/gone.py`", "xtc/gone.py"),
        ("`xtc/gone.py::compile`", "xtc/gone.py::compile"),
        ("see `targets/<t>/gone.py`", "targets/<t>/gone.py"),
        ("`xtc/{driver,gone}.py`", "xtc/{driver,gone}.py"),
        ("[walk](gone.md)", "gone.md"),
        ("```\n```\n`xtc/gone.py`", "xtc/gone.py"),
    ],
)
@pytest.mark.parametrize("document", ["README.md", "docs/page.md", "targets/null/README.md"])
def test_missing_paths_are_reported(tree: Path, document: str, text: str, path: str) -> None:
    (tree / document).write_text(text)
    number = len(text.splitlines())
    assert missing_paths(tree) == [f"{document}:{number}: no {path}"]

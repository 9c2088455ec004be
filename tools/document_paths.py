# SPDX-License-Identifier: Apache-2.0
"""Finds the repository paths that the documents name and that do not exist.

It checks paths in backticks (outside fenced blocks) and the targets of relative links.
`<name>` and `*` in a path stand for anything: some file must match.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

DOCUMENTS = ("*.md", "docs/*.md", "tests/*.md", "targets/*/README.md", "examples/**/*.md")
HISTORY = {"CHANGELOG.md"}  # also names former files
FOLDERS = {
    *(".ci", "benchmarks", "docs", "examples", "tests", "tools"),
    *("xtc", "mlir_passes", "targets"),
}

FENCE = re.compile(r"^\s*(```|~~~)")
CODE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
LOCATION = re.compile(r"(::[\w.]+|:\d+)$")  # a name or line inside the file


def documents(root: Path) -> list[Path]:
    """The documents whose paths are checked."""
    found = {path for pattern in DOCUMENTS for path in root.glob(pattern)}
    return sorted(path for path in found if path.name not in HISTORY)


def prose(text: str) -> Iterator[tuple[int, str]]:
    """The numbered lines outside fenced blocks."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            yield number, line


def is_path(word: str) -> bool:
    """Whether a text looks like a path from the root: `xtc/driver.py`, `targets/<t>/`."""
    first, slash, _ = word.partition("/")
    return bool(slash) and " " not in word and first in FOLDERS


def exists(root: Path, path: str) -> bool:
    """Whether the path, or an expansion of its `<name>`, `*` and `{a,b}`, exists."""
    pattern = re.sub(r"<[^>]*>", "*", LOCATION.sub("", path)).rstrip("/")
    return all(any(True for _ in root.glob(alternative)) for alternative in alternatives(pattern))


def alternatives(pattern: str) -> list[str]:
    """The expansions of `a/{b,c}/d`."""
    braces = re.search(r"\{([^{}]*)\}", pattern)
    if not braces:
        return [pattern]
    head, tail = pattern[: braces.start()], pattern[braces.end() :]
    return [
        alternative
        for part in braces[1].split(",")
        for alternative in alternatives(f"{head}{part}{tail}")
    ]


def missing_paths(root: Path) -> list[str]:
    """Each missing path that a document names, with the document and the line."""
    missing = []
    for document in documents(root):
        for number, line in prose(document.read_text()):
            where = f"{document.relative_to(root)}:{number}"
            names = [(root, word) for word in CODE.findall(line) if is_path(word)]
            names += [(document.parent, link) for link in LINK.findall(line) if "://" not in link]
            missing += [f"{where}: no {name}" for base, name in names if not exists(base, name)]
    return missing

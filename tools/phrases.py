# SPDX-License-Identifier: Apache-2.0
"""Phrases that read as translated from another language, with what to write instead."""

from __future__ import annotations

import bisect
import re
from pathlib import Path

from tools.repository_rules import files_of

FOLDERS = ("xtc", "targets", "mlir_passes", "examples", "benchmarks", "tools", "docs", "tests")
PAGES = ("README.md", "CONTRIBUTING.md")
SUFFIXES = {".py", ".c", ".h", ".md", ".mlir", ".test"}
EXEMPT = {  # quote the phrases
    "docs/style.md",
    "tools/phrases.py",
    "tests/unit/test_repository_rules.py",
}
MARKER = re.compile(r"^[\s#/*]*")
# What to write instead, by the phrase.
PHRASES = {
    r"\bso many\b": "the number of",
    r"\bleft away\b": "omitted",
    r"\b(?:no|some)body\b": "the thread, process or user that acts",
    r"\bwho waits\b": "a waiting thread",
    r"\bwhere there (?:is|are) (?:none|no)\b": "if there is none",
    r"\bRaises? \w+ where\b": "raises X if",
    r"\b(?:None|True|False) where(?! ?[:=,])\b": "None if",
    r"(?<!there )\bis none\b": "is not one",
    r"(?<![Tt]here )\b(?:is|are) no (?!longer\b|more\b|larger\b)[a-z]+": "is not a",
    r"\bof (?:its|their) own\b": "separate, local",
    r"\bgo(?:es)? on\b": "continues",
    r"\b(?:is|are|was|be) told\b": "gets, receives",
    r"\b(?:moved|taken|told) apart\b": "separated, distinguished",
    r"\bc[oa]mes? to nothing\b": "has no effect",
    r"\bby what\b": "the cause",
    r"\bin the place of\b": "in place of, instead of",
    r"\bany ?more\b": "no longer, later",
    r"\b[Ll]eft alone\b": "unchanged",
    r"\bsays so\b": "reports it, is set",
    r"\bin turns\b": "alternately, interleaved",
    r"\bone a line\b": "one per line",
    r"\bof run time\b": "run-time, before the noun",
    r"\bby way of\b": "through",
    r"\b(?:[Ll]eaves?|left) (?:it )?out\b": "omit",
}


def translated_phrases(root: Path) -> list[str]:
    """Uses of these phrases in sources and pages, also across the lines of a text or a comment."""
    found = []
    pages = (root / name for name in PAGES if (root / name).exists())
    for path in (*files_of(root, *FOLDERS), *pages):
        name = path.relative_to(root).as_posix()
        if path.suffix in SUFFIXES and name not in EXEMPT:
            found += [f"{name}:{use}" for use in _uses(path.read_text(encoding="utf-8"))]
    return found


def _uses(text: str) -> list[str]:
    """Line, phrase and replacement of each use."""
    lines = [MARKER.sub("", line) for line in text.splitlines()]
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    joined = " ".join(lines)
    uses = [
        (bisect.bisect_right(starts, match.start()), match.group(), better)
        for phrase, better in PHRASES.items()
        for match in re.finditer(phrase, joined)
    ]
    return [f"{line}: says '{said}', not '{better}'" for line, said, better in sorted(uses)]

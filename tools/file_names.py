# SPDX-License-Identifier: Apache-2.0
"""The rules about file names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

PACKAGES = ("xtc", "mlir_passes", "targets")
# Files named after a user's command, or after another project's operators.
NAMED_BY_OTHERS = ("xtc/cli", "xtc/ops", "xtc/importers")


def names_that_differ_by_an_s(root: Path) -> list[str]:
    """Modules whose names differ only by a plural, as `cost` and `costs`, in any folders."""
    by_singular: dict[str, dict[str, str]] = defaultdict(dict)
    for file in _modules(root, *PACKAGES):
        by_singular[_singular(file.stem.lstrip("_"))].setdefault(file.stem.lstrip("_"), str(file))
    return [", ".join(sorted(by.values())) for by in by_singular.values() if len(by) > 1]


def helpers_of_one_name(root: Path) -> list[str]:
    """Private modules `_x.py` of one name in two folders, except those of two targets."""
    by_name: dict[str, list[PurePosixPath]] = defaultdict(list)
    for file in _modules(root, *PACKAGES):
        if file.name.startswith("_"):
            by_name[file.name].append(file)
    return [
        ", ".join(map(str, files)) for files in by_name.values() if not _of_different_targets(files)
    ]


def _modules(root: Path, *folders: str) -> Iterable[PurePosixPath]:
    for folder in folders:
        for path in sorted((root / folder).rglob("*.py")):
            file = PurePosixPath(path.relative_to(root))
            named = "commands" in file.parts or str(file).startswith(NAMED_BY_OTHERS)
            if not path.stem.startswith("__") and not named:
                yield file


def _singular(name: str) -> str:
    words = name.split("_")
    return "_".join(w[:-1] if len(w) > 3 and w.endswith("s") and w[-2] != "s" else w for w in words)


def _of_different_targets(files: list[PurePosixPath]) -> bool:
    """Whether each file belongs to a different target, where equal names mean equal things."""
    targets = {file.parts[1] for file in files if file.parts[0] == "targets"}
    return len(files) == 1 or len(targets) == len(files)

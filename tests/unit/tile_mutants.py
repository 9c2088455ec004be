# SPDX-License-Identifier: Apache-2.0
"""Tile kernels with a line less, or another one."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType


def with_line(source: Path, number: int, folder: Path, line: str = "pass") -> ModuleType:
    """The module of a file in which another statement stands in a line, counted from 0."""
    lines = source.read_text().splitlines()
    indent = len(lines[number]) - len(lines[number].lstrip())
    lines[number] = " " * indent + line
    module = ModuleType(f"mutant_{source.stem}_{number}")
    path = folder / f"{module.__name__}.py"
    path.write_text("\n".join(lines) + "\n")
    sys.modules[module.__name__] = module
    exec(compile(path.read_text(), str(path), "exec"), vars(module))  # noqa: S102
    return module


def marked(source: Path, mark: str) -> int:
    """The number of the line that ends with a mark."""
    lines = source.read_text().splitlines()
    (found,) = (number for number, line in enumerate(lines) if line.endswith(f"# {mark}"))
    return found

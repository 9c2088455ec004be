# SPDX-License-Identifier: Apache-2.0
"""Generates documents from the code: pages, pictures, and blocks with the output of commands.

Usage: generate_docs.py [ROOT].
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tools.document_blocks import renew_documents
from tools.nest_pictures import PICTURES
from xtc.core.knobs import KNOBS
from xtc.ir import known_passes
from xtc.ir.passes import Pass

ROOT = Path(__file__).resolve().parents[1]
FOLDER_OF = {"xtc_passes": "mlir_passes", "xtc_targets": "targets"}
NOTICE = "<!-- Made from the code by `make docs`: change the code instead. -->\n"


def table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """A Markdown table."""
    lines = [heads, tuple("---" for _ in heads), *rows]
    cells = [[cell.replace("|", "&#124;") for cell in line] for line in lines]
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)


def knobs_page() -> str:
    """The table of environment variables."""
    rows = [
        (f"`{knob.name}`", knob.default_text and f"`{knob.default_text}`", knob.help)
        for _, knob in sorted(KNOBS.items())
    ]
    return (
        f"{NOTICE}\n# Environment variables\n\n"
        "A variable is read when it is used; an empty value counts as unset.\n\n"
        f"{table(('name', 'default', 'effect'), rows)}"
    )


def passes_page() -> str:
    """The page about every pass, with its options."""
    head = (
        f"{NOTICE}\n# Passes\n\nThe passes of this project, by name; MLIR's are available too. "
        "`xtc-opt file.mlir --name{option=value}` runs one.\n"
    )
    return "".join(
        [head, *(pass_section(item) for _, item in sorted(known_passes.passes().items()))]
    )


def pass_section(kind: type[Pass]) -> str:
    """The part of the page about one pass."""
    package, _, rest = kind.__module__.partition(".")
    path = f"{FOLDER_OF[package]}/{rest.replace('.', '/')}.py"
    options = [
        (f"`{field.name.replace('_', '-')}`", f"`{field.type}`", default_text(field))
        for field in dataclasses.fields(kind)
    ]
    rows = f"\n{table(('option', 'type', 'default'), options)}" if options else ""
    return f"\n## {kind.name}\n\n{inspect.getdoc(kind)}\n{rows}\nIn `{path}`.\n"


def default_text(field: dataclasses.Field[Any]) -> str:
    """The default of a pass option, or a note that it is required."""
    return "required" if field.default is dataclasses.MISSING else f"`{field.default}`"


def operators_page() -> str:
    """The page about importers: each supported operator with the versions of its schema."""
    from xtc.importers.onnx import ops as _  # noqa: F401  fills the table
    from xtc.importers.onnx.table import TABLE, versions_of

    names = sorted({(domain, name) for domain, name, _version in TABLE})
    rows = [
        (f"`{domain}.{name}`" if domain else f"`{name}`", ", ".join(map(str, versions)))
        for domain, name in names
        if (versions := versions_of(domain, name))
    ]
    return (
        f"{NOTICE}\n# ONNX operators\n\n"
        "`xtc.from_onnx` reads these versions of each operator's schema. An operator that is not "
        "here but has a function body in its schema is replaced by that body; any other version or "
        "operator is an error that names the node.\n\n"
        f"{table(('operator', 'versions of its schema'), rows)}"
    )


PAGES: dict[str, Callable[[], str]] = {
    "docs/knobs.md": knobs_page,
    "docs/onnx-operators.md": operators_page,
    "docs/passes.md": passes_page,
    **PICTURES,
}


def stale_pages(root: Path) -> list[str]:
    """The pages whose file is outdated."""
    return [
        name
        for name, page in PAGES.items()
        if not (root / name).is_file() or (root / name).read_text() != page()
    ]


def main(root: Path = ROOT) -> None:
    """Write the outdated pages and blocks."""
    for name in stale_pages(root):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(PAGES[name]())
        print(f"wrote {name}")
    for path in renew_documents(root):
        print(f"wrote blocks of {path.relative_to(root)}")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))

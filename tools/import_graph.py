# SPDX-License-Identifier: Apache-2.0
"""The import graph of the project's modules, including imports inside functions.

Imports under `if TYPE_CHECKING:` are only for type checkers and do not count.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

FOLDER_OF = {"xtc": "xtc", "xtc_passes": "mlir_passes", "xtc_targets": "targets"}
SHARED = "xtc_passes"

Imports = Mapping[str, Collection[str]]


def import_graph(root: Path) -> dict[str, set[str]]:
    """Each module of the three packages, with the modules of these packages that it imports."""
    files = dict(_modules(root))
    return {
        name: {found for found in _imported(ast.parse(path.read_text()), files) if found != name}
        for name, path in files.items()
    }


def _modules(root: Path) -> Iterator[tuple[str, Path]]:
    for package, folder in FOLDER_OF.items():
        for path in sorted((root / folder).rglob("*.py")):
            parts = path.relative_to(root / folder).with_suffix("").parts
            yield ".".join((package, *(part for part in parts if part != "__init__"))), path


def _imported(tree: ast.AST, known: Collection[str]) -> Iterator[str]:
    for node in _executed(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield from [name for name in (inner, node.module) if name in known][:1]


def _executed(tree: ast.AST) -> Iterator[ast.AST]:
    """The executed statements and their parts, without those under `if TYPE_CHECKING:`."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.expr):  # contains no statement
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            continue
        yield node
        yield from _executed(node)


def reached(graph: Imports, start: Collection[str]) -> set[str]:
    """The modules that are reachable from these, themselves included."""
    found, todo = set(start), list(start)
    while todo:
        new = set(graph[todo.pop()]) - found
        found |= new
        todo.extend(new)
    return found


def cycles(graph: Imports) -> list[list[str]]:
    """Groups of modules that import each other, directly or indirectly, sorted."""
    ahead = {name: reached(graph, graph[name]) for name in graph}
    groups = {
        tuple(sorted(other for other in ahead[name] if name in ahead[other]))
        for name in graph
        if name in ahead[name]
    }
    return sorted(map(list, groups))


def serving_one_target(graph: Imports) -> list[str]:
    """Shared pass modules that are reachable from a single target's code only."""
    users: dict[str, set[str]] = {}
    for name in graph:
        owner = ".".join(name.split(".")[:2]) if name.startswith("xtc_targets.") else "xtc"
        if not name.startswith(SHARED):
            users.setdefault(owner, set()).add(name)
    ahead = {owner: reached(graph, names) for owner, names in users.items()}
    return [
        f"{name}: serves {owners[0].rpartition('.')[2]} alone"
        for name in sorted(graph)
        if name.startswith(f"{SHARED}.") and name.count(".") > 1
        if len(owners := [owner for owner, names in ahead.items() if name in names]) == 1
        if owners[0] != "xtc"
    ]

# SPDX-License-Identifier: Apache-2.0
"""Rules that no general tool checks; tests/unit/test_repository_rules.py applies them.

Every rule takes the repository's root and returns its violations, one line each.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from tools.import_graph import cycles, import_graph, serving_one_target

CODE = ("xtc", "mlir_passes", "targets")
FOLDERS = (*CODE, "tests", "tools", "examples", "benchmarks")
SKIPPED = {"__pycache__", "Output"}
LICENSE = "SPDX-License-Identifier: Apache-2.0"
LICENSED = {".py", ".c", ".h", ".cc", ".cpp", ".hpp", ".cu", ".cuh", ".csl", ".s", ".S", ".sh"}
LICENSED_NAMES = {"Makefile", "run"}
MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 60
IMPORTING = {"__import__", "import_module", "module_from_spec", "exec_module"}
DYNAMIC_IMPORTERS = {"xtc/core/discover.py", "xtc/core/extensions.py"}
ATTRIBUTES = "xtc/ir/attributes.py"
BUILDERS = "xtc/ir/builders/"
# Files of xtc/ops that define no operator.
OPS_INFRASTRUCTURE = {
    "__init__.py",
    "attributes.py",
    "border.py",
    "comparison.py",
    "accumulation.py",
    "elementwise.py",
    "fixed_point.py",
    "gathering.py",
    "pooling.py",
    "prefix.py",
    "python_operators.py",
    "coded_weights.py",
    "quantized.py",
    "quantized_softmax.py",
    "reduction.py",
    "scattering.py",
    "selection.py",
    "window.py",
}
# Files outside a target's folder that may name it, with the reason.
NAMED_TARGETS: dict[tuple[str, str], str] = {
    ("xtc/interfaces/target.py", "host"): "the default target",
    ("xtc/loops/annotations.py", "null"): "the data form's word for an empty value",
}
# Target names that are also English words or dialects: only the exact string names the target.
PLAIN_WORDS = {"host", "null"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def files_of(root: Path, *folders: str) -> Iterator[Path]:
    """The files below these folders, in order, without caches and links to folders."""
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.is_file() and not SKIPPED & set(path.relative_to(root).parts):
                yield path


def python_files(root: Path, *folders: str) -> Iterator[tuple[str, Path]]:
    """Each Python file with its name from the root."""
    for path in files_of(root, *folders):
        if path.suffix == ".py":
            yield path.relative_to(root).as_posix(), path


def modules_that_mention(
    root: Path, pattern: str, *folders: str
) -> Iterator[tuple[str, ast.Module]]:
    """Each Python file with the pattern in its text, parsed, with its name from the root."""
    mentioned = re.compile(pattern)
    for name, path in python_files(root, *folders):
        if mentioned.search(text := path.read_text()):
            yield name, ast.parse(text)


def is_part(path: Path) -> bool:
    """Whether a file is public: neither a package's `__init__` nor `_private`."""
    return path.suffix == ".py" and not path.name.startswith("_")


def passes_without_twin(root: Path) -> list[str]:
    """Pass files foo_bar.py without their lit test foo-bar.mlir.

    Tests of shared passes are in tests/filecheck/passes/<package>/, those of a target's passes in
    tests/filecheck/targets/<t>/passes/.
    """
    return [
        f"{path.relative_to(root)}: no {twin.relative_to(root)}"
        for folder, twins in pass_folders(root)
        for path in sorted(folder.glob("*.py"))
        if is_part(path)
        if not (twin := twins / (path.stem.replace("_", "-") + ".mlir")).is_file()
    ]


def pass_folders(root: Path) -> Iterator[tuple[Path, Path]]:
    """Each folder of passes, with the folder of their lit tests."""
    tests = root / "tests" / "filecheck"
    for folder in sorted((root / "mlir_passes").glob("[a-z]*/")):
        yield folder, tests / "passes" / folder.name
    for folder in sorted((root / "targets").glob("*/passes")):
        yield folder, tests / "targets" / folder.parent.name / "passes"


def operators_without_twin(root: Path, infrastructure: set[str] = OPS_INFRASTRUCTURE) -> list[str]:
    """Operator files xtc/ops/foo.py without a lit test tests/filecheck/ops/foo.py.

    A file that does not define the operator of its name must be listed as infrastructure.
    """
    broken = []
    for path in sorted((root / "xtc" / "ops").glob("*.py")):
        name = f"xtc/ops/{path.name}"
        defines = path.stem in class_names(ast.parse(path.read_text()))
        if not defines and path.name not in infrastructure:
            broken.append(f"{name}: no operator '{path.stem}', nor is it listed as infrastructure")
        elif defines and not (root / "tests" / "filecheck" / "ops" / path.name).is_file():
            broken.append(f"{name}: no tests/filecheck/ops/{path.name}")
    return broken


def class_names(tree: ast.Module) -> set[str]:
    """The strings that classes of the module have as their attribute `name`."""
    return {
        line.value.value
        for node in tree.body
        if isinstance(node, ast.ClassDef)
        for line in node.body
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
        if line.target.id == "name" and isinstance(line.value, ast.Constant)
        if isinstance(line.value.value, str)
    }


def target_names(root: Path) -> list[str]:
    """The names of targets: the folders in targets/."""
    return [path.name for path in sorted((root / "targets").glob("[a-z]*")) if path.is_dir()]


def docstrings(tree: ast.Module) -> set[ast.expr]:
    """The strings that are documentation, which are unused expressions."""
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}


def strings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and text of string literals and of imported modules."""
    prose = docstrings(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in prose:
            yield node.lineno, node.value
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def names_target(text: str, target: str) -> bool:
    """Whether a string literal or an imported module names the target.

    `nvgpu.mma` and `convert-nvgpu-to-nvvm` are an operation and a pass, so no names of a target.
    """
    if text == target or re.search(rf"\b(xtc_targets\.|targets/){target}\b", text):
        return True
    alone = rf"(?<![\w.-]){target}(?![\w.-])"
    return target not in PLAIN_WORDS and re.search(alone, text) is not None


def targets_named_outside(
    root: Path, allowed: Mapping[tuple[str, str], str] = NAMED_TARGETS
) -> list[str]:
    """Code in xtc/ and mlir_passes/ that names a target, and unused exceptions."""
    targets = target_names(root)
    found = [
        (name, target, line)
        for name, tree in modules_that_mention(root, "|".join(targets), "xtc", "mlir_passes")
        for line, text in strings(tree)
        for target in targets
        if names_target(text, target)
    ]
    needed = {(name, target) for name, target, _ in found}
    broken = [
        f"{name}:{line}: names the target {target}"
        for name, target, line in found
        if (name, target) not in allowed
    ]
    stale = [f"{entry}: exception not needed" for entry in allowed if entry not in needed]
    return broken + stale


def attributes_spelled_elsewhere(root: Path, owner: str = ATTRIBUTES) -> list[str]:
    """Strings with the name of an attribute outside of the file that owns these names."""
    names = sorted(attribute_names(ast.parse((root / owner).read_text())))
    ends = (re.escape(name) + ("" if name[-1] in "._" else r"(?!\w)") for name in names)
    spelled = re.compile(rf"(?<![\w.])({'|'.join(ends)})")
    return [
        f"{name}:{line}: spells the attribute {match[1]}"
        for name, tree in modules_that_mention(root, spelled.pattern, *CODE)
        if name != owner
        for line, text in strings(tree)
        if (match := spelled.search(text))
    ]


def attribute_names(tree: ast.Module) -> set[str]:
    """The values of the module's names that are strings with a letter."""
    return {
        node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        if isinstance(node.value.value, str) and re.search(r"\w", node.value.value)
    }


def operations_made_by_name(root: Path) -> list[str]:
    """Code that builds an operation by name, which only the builders may do."""
    return [
        f"{name}:{node.lineno}: makes an operation by its name"
        for name, tree in modules_that_mention(root, "Operation", *CODE)
        if not name.startswith(BUILDERS)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr == "create"
        if isinstance(node.value, ast.Name) and node.value.id == "Operation"
    ]


def variables_named_one(root: Path) -> list[str]:
    """Variables and parameters called `one`, which is not a descriptive name."""
    return [
        f"{name}:{node.lineno}: a variable is called 'one'"
        for name, tree in modules_that_mention(root, r"\bone *[=:,)]| one in ", *FOLDERS)
        for node in ast.walk(tree)
        if (isinstance(node, ast.arg) and node.arg == "one")
        or (isinstance(node, ast.Name) and node.id == "one" and isinstance(node.ctx, ast.Store))
    ]


def dynamic_imports(root: Path, allowed: set[str] = DYNAMIC_IMPORTERS) -> list[str]:
    """Code that imports by name at run time outside of the module for it."""
    names = "pkgutil", "importlib", *IMPORTING
    return [
        f"{name}:{node.lineno}: imports dynamically"
        for name, tree in modules_that_mention(root, "|".join(names), *CODE)
        if name not in allowed
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt | ast.expr) and is_dynamic_import(node)
    ]


def is_dynamic_import(node: ast.AST) -> bool:
    """Whether it is `pkgutil`, or a function of `importlib` that imports."""
    if isinstance(node, ast.Name | ast.Attribute):
        return (node.id if isinstance(node, ast.Name) else node.attr) in IMPORTING
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        names = [f"{node.module}.{alias.name}" for alias in node.names]
    else:
        return False
    return any(re.match(r"pkgutil\b|importlib$", name) for name in names) or any(
        name.startswith("importlib.") and name.rsplit(".", 1)[1] in IMPORTING for name in names
    )


def import_cycles(root: Path) -> list[str]:
    """Modules that import each other, including imports in functions."""
    return [", ".join(group) for group in cycles(import_graph(root))]


def passes_of_one_target(root: Path) -> list[str]:
    """Modules of shared passes that serve a single target: they belong in its folder."""
    return serving_one_target(import_graph(root))


def long_files(root: Path, limit: int = MAX_FILE_LINES) -> list[str]:
    """Python files with more than `limit` lines."""
    return [
        f"{name}: {count} lines"
        for name, path in python_files(root, *FOLDERS)
        if (count := len(path.read_text().splitlines())) > limit
    ]


def long_functions(root: Path, limit: int = MAX_FUNCTION_LINES) -> list[str]:
    """Functions with more than `limit` lines, from `def` to the last one."""
    return [
        f"{name}:{node.lineno}: {node.name} has {count} lines"
        for name, path in python_files(root, *CODE, "tools", "examples", "benchmarks")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, Function)
        if (count := (node.end_lineno or node.lineno) - node.lineno + 1) > limit
    ]


def files_without_license(root: Path) -> list[str]:
    """Source files whose first line (the second after `#!`) does not name the license."""
    top = [path for path in sorted(root.glob("*")) if path.is_file()]
    return [
        f"{path.relative_to(root)}: no '{LICENSE}' at its head"
        for path in [*top, *files_of(root, *FOLDERS, ".ci")]
        if path.suffix in LICENSED or path.name in LICENSED_NAMES
        if not has_license(path.read_text())
    ]


def has_license(text: str) -> bool:
    """Whether the first line that is not `#!` names the license; an empty file has none."""
    lines = text.splitlines()
    head = lines[1:2] if lines and lines[0].startswith("#!") else lines[:1]
    return any(LICENSE in line for line in head)

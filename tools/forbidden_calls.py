# SPDX-License-Identifier: Apache-2.0
"""Finds code that could run foreign code: evaluation, unpickling, shells, YAML."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

from tools.repository_rules import CODE, modules_that_mention

BUILTINS = {"eval", "exec", "compile", "__import__"}
MODULES = {
    *("cloudpickle", "dill", "joblib", "jsonpickle", "marshal", "pickle", "shelve"),  # load objects
    *("multiprocessing",),  # sends them between processes
    *("code", "codeop", "imp", "runpy"),  # run text and files
    *("commands", "pty"),  # run shells
}
ATTRIBUTES = {
    "builtins": BUILTINS,
    "os": {"system", "popen", *(f"{kind}{form}" for kind in ("exec", "spawn") for form in (
        "l", "le", "lp", "lpe", "v", "ve", "vp", "vpe"))},
    "subprocess": {"getoutput", "getstatusoutput"},
    "tempfile": {"mktemp"},
    "yaml": {
        *("load", "load_all", "unsafe_load", "unsafe_load_all", "full_load", "full_load_all"),
        *("Loader", "CLoader", "UnsafeLoader", "CUnsafeLoader", "FullLoader", "CFullLoader"),
        *("Dumper", "CDumper"),
    },
}  # fmt: skip
UNSAFE_ARGUMENTS = {"shell", "allow_pickle"}
EXCEPTIONS = {
    ("xtc/cli/common.py", "runpy"): "a graph may be written in Python: the user's own program",
    ("targets/wse/sdk/cs_python.py", "runpy"): "the user's own host program",
    ("tools/forks/command.py", "compile"): "it stands for the interpreter in tests",
    ("tools/forks/command.py", "exec"): "it stands for the interpreter in tests",
    ("tools/onnx_node_tests.py", "multiprocessing"): "it communicates with processes that it forks",
    ("tools/forks/lit_format.py", "multiprocessing"): "it checks whether lit is alive",
}
NAMES = {*BUILTINS, *MODULES, *UNSAFE_ARGUMENTS}.union(*ATTRIBUTES.values())
FOLDERS = (*CODE, "tools", "examples", "benchmarks")


def forbidden_calls(root: Path, allowed: Mapping[tuple[str, str], str] = EXCEPTIONS) -> list[str]:
    """The uses of forbidden names, one line each, and unused exceptions."""
    found = [
        (name, line, what)
        for name, tree in modules_that_mention(root, rf"\b({'|'.join(NAMES)})\b", *FOLDERS)
        for line, what in uses(tree)
    ]
    needed = {(name, what) for name, _, what in found}
    broken = [f"{name}:{line}: {what}" for name, line, what in found if (name, what) not in allowed]
    return broken + [f"{entry}: exception not needed" for entry in allowed if entry not in needed]


def uses(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and name of every forbidden use in a module."""
    own = _bound(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, name) for name in map(_top, node.names) if name in MODULES)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, what) for what in _imported(node))
        elif isinstance(node, ast.Name) and node.id in BUILTINS - own:
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.attr in ATTRIBUTES.get(node.value.id, ()):
                yield node.lineno, f"{node.value.id}.{node.attr}"
        elif isinstance(node, ast.keyword) and _is_unsafe(node):
            yield node.value.lineno, f"{node.arg}="


def _is_unsafe(argument: ast.keyword) -> bool:
    """Whether `shell=` may be true; anything but a constant False counts as unsafe."""
    value = argument.value
    off = isinstance(value, ast.Constant) and value.value is False
    return argument.arg in UNSAFE_ARGUMENTS and not off


def _top(alias: ast.alias) -> str:
    return alias.name.partition(".")[0]


def _imported(node: ast.ImportFrom) -> Iterator[str]:
    module = (node.module or "").partition(".")[0]
    if node.level == 0 and module in MODULES:
        yield module
    for alias in node.names:
        if node.level == 0 and alias.name in ATTRIBUTES.get(node.module or "", ()):
            yield f"{module}.{alias.name}"


def _bound(tree: ast.Module) -> set[str]:
    """Names that the module redefines, as xtc does with `compile`."""
    bound = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.ImportFrom):
            bound |= {alias.asname or alias.name for alias in node.names}
    return bound

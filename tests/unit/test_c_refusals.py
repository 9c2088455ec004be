# SPDX-License-Identifier: Apache-2.0
"""Every error message of the C printer has a lit test."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "xtc" / "codegen" / "c").glob("*.py"))
PINS = ROOT / "tests" / "filecheck" / "targets" / "c" / "pipelines"


def refusals(source: str) -> list[str]:
    """The longest constant part of the message of each error that a source file raises."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return [
        max((_words(part) for part in ast.walk(message)), key=len)
        for call in calls
        if (message := _message(call)) is not None
    ]


def _message(call: ast.Call) -> ast.expr | None:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    position = {"error": 1, "CompileError": 0, "UserError": 0}.get(name)
    if position is None or isinstance(call.args[position], ast.Name):
        return None  # the only function that forwards a message
    return call.args[position]


def _words(node: ast.AST) -> str:
    return str(node.value).strip() if isinstance(node, ast.Constant) else ""


def test_messages_are_collected() -> None:
    source = 'raise printer.error(op, f"{op.name} of vectors is not C")\nraise UserError("a b")'
    assert refusals(source) == ["of vectors is not C", "a b"]
    assert refusals("raise CompileError(text, notes=[])") == []
    assert sum(len(refusals(path.read_text())) for path in SOURCES) > 20


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_each_message_has_a_lit_test(path: Path) -> None:
    checks = "\n".join(
        line
        for pin in PINS.glob("refused_*.py")
        for line in pin.read_text().splitlines()
        if line.startswith("# CHECK")
    )
    assert [text for text in refusals(path.read_text()) if text not in checks] == []

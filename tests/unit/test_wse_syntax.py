# SPDX-License-Identifier: Apache-2.0
"""CSL text to tree and back gives an equal tree, for any spaces, comments and parentheses."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from xtc_targets.wse.csl import tree
from xtc_targets.wse.csl.errors import CslError
from xtc_targets.wse.csl.parser import parse
from xtc_targets.wse.csl.printer import print_expression, print_file
from xtc_targets.wse.sema.module import LIBRARY

ROOT = Path(__file__).parents[2]
TESTS = sorted((ROOT / "tests" / "filecheck" / "targets" / "wse").rglob("*.test"))
PARTS = re.compile(r"^#--- (\S+\.csl)\n(.*?)(?=^#--- |\Z)", re.MULTILINE | re.DOTALL)
TEXTS = {str(path.relative_to(LIBRARY)): path.read_text() for path in LIBRARY.rglob("*.csl")} | {
    f"{path.name}/{name}": text for path in TESTS for name, text in PARTS.findall(path.read_text())
}


@pytest.mark.parametrize("name", TEXTS)
def test_what_is_printed_parses_to_the_same_tree(name: str) -> None:
    # A single statement as the branch of an `if` is printed as a block: print twice.
    once = parse(print_file(parse(TEXTS[name], name)), name)
    assert parse(print_file(once), name) == once


def expression(text: str) -> tree.Expr:
    (item,) = parse(f"const x = {text};", "text").items
    assert isinstance(item, tree.Declaration)
    assert item.value is not None
    return item.value


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("1+2*3", "1 + (2 * 3)"),
        ("a & 1 == 0", "(a & 1) == 0"),
        ("a or b and !c", "a or (b and (!c))"),
        ("-x.*.y[1,2]", "-x.*.y[1, 2]"),
        ("if (a) b else if (c) d", "if (a) b else (if (c) d)"),
        (".{.a=1,2,.{}}", ".{ .a = 1, 2, .{} }"),
        ("[_]i16{1,2}", "[_]i16 { 1, 2 }"),
        ("|i,j|{M, 2}->A[i*N+j]", "|i, j|{M, 2} -> A[(i * N) + j]"),
        ("fn()void", "fn () void"),
        ("task (u16) void", "fn (u16) void"),
        ('"a\\n\\"b\\""', '"a\\n\\"b\\""'),
        ("0xFF_FF", "0xFF_FF"),
        ("1 << 2 >> 3", "(1 << 2) >> 3"),
    ],
)
def test_operator_precedence(text: str, printed: str) -> None:
    assert print_expression(expression(text)) == printed
    assert expression(printed) == expression(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("fn f() void {", "text:1:14: an expression is expected here, not end of file"),
        ('const x = "a\n";', "text:1:11: the string does not end on its line"),
        ("const x = 1 $ 2;", "text:1:13: '$' is not a token of CSL"),
        ("\n\n  var = 1;", "text:3:7: the name of a var is expected here, not '='"),
        ("x = 1;", "text:1:1: a declaration is expected here, not 'x'"),
        ("export 3;", "text:1:8: a declaration is expected here, not '3'"),
    ],
)
def test_invalid_syntax_is_refused(text: str, said: str) -> None:
    with pytest.raises(CslError) as caught:
        parse(text, "text")
    assert str(caught.value) == said

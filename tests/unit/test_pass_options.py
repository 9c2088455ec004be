# SPDX-License-Identifier: Apache-2.0
"""Options as text and as values: of passes, and of targets."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest

from xtc.cli.pass_options import joined
from xtc.core.errors import UserError
from xtc.core.option_types import fits, parse, type_text
from xtc.ir.mlir import Operation
from xtc.ir.passes import Pass, split_pass


@dataclass(frozen=True)
class Tile(Pass):
    """Tile loops."""

    name: ClassVar[str] = "tile"
    rows: int
    order: tuple[int, ...] = ()
    names: tuple[str, ...] = field(default_factory=tuple)
    peel: bool = False
    kind: str = "plain"

    def run(self, module: Operation) -> None:
        """Nothing."""


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("rows=8", Tile(8)),
        ("rows=-8  kind=a=b", Tile(-8, kind="a=b")),
        ("rows=1 order=2,1 names=i,j", Tile(1, (2, 1), ("i", "j"))),
        ("rows=1 peel", Tile(1, peel=True)),
        ("rows=1 peel=false", Tile(1)),
    ],
)
def test_options_are_parsed(text: str, parsed: Tile) -> None:
    assert Tile.parse_options(text) == parsed


def test_the_text_of_a_pass_is_parsed_again() -> None:
    tile = Tile(3, (0, 1), ("k",), peel=True, kind="deep")
    assert str(tile) == "tile{rows=3 order=0,1 names=k peel=true kind=deep}"
    assert Tile.parse_options(split_pass(str(tile))[1]) == tile
    assert str(Tile(3)) == "tile{rows=3}"


def test_an_empty_tuple_is_empty_text() -> None:
    assert parse("", tuple[int, ...]) == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "pass 'tile' needs the option 'rows'"),
        ("rows", "option 'rows' of pass 'tile' cannot be ''"),
        ("rows=x", "option 'rows' of pass 'tile' cannot be 'x'"),
        ("rows=1 rows=2", "option 'rows' of pass 'tile' is given twice"),
        ("rows=1 order=1,x", "option 'order' of pass 'tile' cannot be '1,x'"),
        ("rows=1 peel=maybe", "option 'peel' of pass 'tile' cannot be 'maybe'"),
        ("rows=1 kinds=x", "pass 'tile' has no option 'kinds'"),
    ],
)
def test_invalid_options_are_refused(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        Tile.parse_options(text)


@pytest.mark.parametrize("text", ["", "a b", "tile{", "tile{a=1}{b=2}", "Tile", "tile{a={1}}"])
def test_an_invalid_pass_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="is not a pass"):
        split_pass(text)


@pytest.mark.parametrize(
    ("text", "declared", "value"),
    [
        ("7", int, 7),
        ("7", str, "7"),
        ("7", str | None, "7"),
        ("7", int | str, 7),
        ("x", int | str, "x"),
        ("0.5", float, 0.5),
        ("true", bool, True),
        ("a/b", Path, Path("a/b")),
        ("b", Literal["a", "b"], "b"),
        ("2", Literal[1, 2], 2),
        ("1,2", tuple[int, ...], (1, 2)),
    ],
)
def test_texts_are_parsed_to_values(text: str, declared: Any, value: object) -> None:
    parsed = parse(text, declared)
    assert (parsed, type(parsed)) == (value, type(value))
    assert fits(parsed, declared)


@pytest.mark.parametrize(
    ("text", "declared"),
    [("x", int), ("1.5", int), ("x", int | None), ("c", Literal["a", "b"]), ("2", bool)],
)
def test_invalid_texts_are_refused(text: str, declared: Any) -> None:
    with pytest.raises(ValueError, match=text):
        parse(text, declared)


@pytest.mark.parametrize(
    ("value", "declared", "right"),
    [
        (1, int, True),
        (True, int, False),
        (True, bool, True),
        (1, bool, False),
        (1, float, True),
        ("1", float, False),
        (None, int | None, True),
        ("1", int | None, False),
        ((1, 2), tuple[int, ...], True),
        ((1, "2"), tuple[int, ...], False),
        ([1], tuple[int, ...], False),
        ("a", Literal["a", "b"], True),
        ("c", Literal["a", "b"], False),
    ],
)
def test_values_and_declared_types(value: object, declared: Any, right: bool) -> None:
    assert fits(value, declared) is right


def test_types_are_named_as_in_annotations() -> None:
    assert type_text(int) == "int"
    assert type_text(str | None) == "str | None"


def test_a_pipeline_may_follow_its_option() -> None:
    assert joined(["--pass-pipeline", "p", "f", "--pass-pipeline=q"]) == [
        *("--pass-pipeline=p", "f", "--pass-pipeline=q")
    ]

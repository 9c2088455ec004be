# SPDX-License-Identifier: Apache-2.0
"""Schedules in MLIR text keep their order and location; all other text is unchanged."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.unit.random_nests import random_data
from xtc.core.errors import UserError
from xtc.core.location import SourceLocation
from xtc.driver.foreign import parse_module
from xtc.ir.mlir import Context
from xtc.loops import Axis, Space, parse_nest
from xtc.loops.attribute_text import lift_schedules
from xtc.loops.yaml_text import parse_yaml

SPACE = Space((Axis("i", 12), Axis("j", 7), Axis("k", 16, reduction=True)), 2, (0,))
BLANKS = (" ", "", "\n  ", '  // a comment { "\n', "\t", " \r\n")
PIECES = (
    *("loop.schedule", '"loop.schedule"', " = ", "=", "{", "}", "[", "]", ",", '"i"', "j", '"'),
    *("unit", "4 : i64", "-1", ": index", "//", "\n", " ", "\\", "x", '"i#4"', "loop.schedule = {"),
)


def written(rng: Random, value: Any) -> str:
    """Data as an MLIR attribute, with random blanks and comments."""
    if isinstance(value, dict):
        entries = [f'"{key}"{entry(rng, item)}' for key, item in value.items()]
        return bracketed(rng, entries, "{}")
    if isinstance(value, list):
        return bracketed(rng, [written(rng, item) for item in value], "[]")
    if isinstance(value, bool) or value is None:
        return {True: "true", None: "unit"}[value]
    return f'"{value}"' if isinstance(value, str) else rng.choice((f"{value}", f"{value} : i64"))


def entry(rng: Random, value: Any) -> str:
    """The value after a name in a dictionary; empty if it is a unit attribute."""
    if (value is None or value is True) and rng.random() < 0.7:
        return ""
    blank = rng.choice((" ", "", "  "))
    return f"{blank}={rng.choice(BLANKS[:2])}{written(rng, value)}"


def bracketed(rng: Random, parts: list[str], brackets: str) -> str:
    inside = ",".join(f"{rng.choice(BLANKS)}{part}{rng.choice(BLANKS)}" for part in parts)
    return f"{brackets[0]}{inside}{brackets[1]}"


@pytest.mark.slow
@given(seed=st.integers(0, (1 << 32) - 1))
def test_a_dictionary_means_the_same_as_the_data(seed: int) -> None:
    rng = Random(seed)  # noqa: S311  data of a test
    data = random_data(rng, SPACE)
    text = f"{{a, loop.schedule = {written(rng, data)}, b}}"
    lifted, (found,) = lift_schedules(text, "f.mlir")
    assert lifted.startswith("{a, loop.schedule = -1")
    assert lifted.endswith(", b}")
    assert meaning(parse_yaml(found.yaml)) == meaning(data)


def meaning(data: Any) -> object:
    try:
        return parse_nest(data, SPACE, "C")
    except UserError as error:
        return error.what


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join) | st.text(max_size=80))
@example('loop.schedule = {"i"} loop.schedule = {')
@example("loop.schedule = {}")
def test_every_location_is_kept(text: str) -> None:
    lifted, found = lift_schedules(text, "f.mlir")
    if not found:
        assert lifted == text
    assert lifted.count("\n") == text.count("\n")
    if len(found) < 10:
        pairs = zip(lifted.split("\n"), text.split("\n"), strict=True)
        assert all(len(text) - len(other) in (0, 1) for text, other in pairs)


def test_lines_and_columns_count_from_one() -> None:
    text = 'a\n  loop.schedule = {\n    "i", "j#2" = {unroll=2}}'
    _, (found,) = lift_schedules(text, "f.mlir")
    assert found.where == SourceLocation("f.mlir", 2, 19)
    tree = parse_yaml(found.yaml, found.where)
    assert [str(key.where) for key in tree.value] == ["f.mlir:3:5", "f.mlir:3:10"]


def test_text_in_strings_and_comments_is_no_schedule() -> None:
    text = '"loop.schedule = {i}" // loop.schedule = {i}\nmy_loop.schedule = {i}'
    assert lift_schedules(text, "f.mlir") == (text, [])


def test_a_printed_module_is_parsed_again() -> None:
    text = 'func.func private @f() attributes {loop.schedule = {"j", "i" = {"unroll"}}}'
    with Context():
        once = str(parse_module(text, "f.mlir"))
        assert str(parse_module(once, "g.mlir")) == once
    assert 'loop.schedule = "{\\22j\\22, \\22i\\22 : {\\22unroll\\22}}"' in once
    assert 'loop.schedule_at = "f.mlir:1:52"' in once


@pytest.mark.slow
@pytest.mark.timeout(20)
@pytest.mark.parametrize("part", ["loop.schedule={}", "loop.schedule = {", "loop.schedule={a,a,a,"])
def test_long_text_is_processed(part: str) -> None:
    lifted, found = lift_schedules(f"{part}\n" * 50_000, "f.mlir")
    assert lifted.count("\n") == 50_000
    assert len(found) == (50_000 if part.endswith("}") else 0)

# SPDX-License-Identifier: Apache-2.0
"""Expressions of strategies: values and refusals."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xtc.core.errors import UserError
from xtc.core.location import SourceLocation
from xtc.search.expression import parse_expression

VALUES = {"iR": 6, "jR": 64, "V": 16, "zero": 0, "large": 1 << 40}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("iR * jR <= 28 * V", 1),
        ("iR * jR <= 2 * V", 0),
        ("4 <= iR < 8", 1),
        ("4 <= iR < 6", 0),
        ("iR % 2 == 0 and not jR % 3 == 0", 1),
        ("iR > 9 or jR == 64", 1),
        ("min(iR, jR, 3) + max(1, 2) - abs(-4)", 1),
        ("-iR + 2 ** 3 // 3", -4),
        ("(iR + 1) * 2", 14),
        ("not iR", 0),
        (12, 12),
    ],
)
def test_values(text: object, value: int) -> None:
    assert parse_expression(text).value(VALUES) == value


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "iR.real",
        "[iR]",
        "iR if jR else V",
        "lambda: 1",
        "f'{iR}'",
        "(iR := 3)",
        "1.5 * iR",
        "'a' * iR",
        "True",
        "iR @ jR",
        "iR << 3",
        "~iR",
        "iR in jR",
        "iR is jR",
        "min(iR)",
        "min(*iR, 2)",
        "max(iR, key=abs)",
        "abs(iR, jR)",
        "eval(iR, jR)",
        "iR / jR",
        "9" * 30,
    ],
)
def test_other_syntax_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="hint: an expression has integers"):
        parse_expression(text)


@pytest.mark.parametrize("text", ["", "iR +", "iR jR", "(", "iR == ", "\0", "(" * 400, "-" * 450])
def test_invalid_syntax_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        parse_expression(text)


@pytest.mark.parametrize("text", ["1" * 501, None, True, 1.5, ["iR"]])
def test_other_types_are_refused(text: object) -> None:
    with pytest.raises(UserError, match="is not an expression"):
        parse_expression(text)


@pytest.mark.parametrize("text", ["iR // zero", "iR % zero", "2 ** -1", "2 ** 63", "large * large"])
def test_undefined_results_are_errors_with_the_values(text: str) -> None:
    where = SourceLocation("s.yaml", 3, 5)
    with pytest.raises(UserError, match=r"s\.yaml:3:5: .* has no value"):
        parse_expression(text, where).value(VALUES)


def test_unknown_names_are_named() -> None:
    with pytest.raises(UserError, match="unknown name 'larg'") as caught:
        parse_expression("larg * jR").check_names(VALUES)
    assert caught.value.hints == ("did you mean 'large'?",)


@given(st.text(alphabet="iRj0179 +-*/%<>=()andornmx,.[]'", max_size=40))
@pytest.mark.slow
def test_any_text_is_an_expression_or_an_error(text: str) -> None:
    try:
        expression = parse_expression(text)
        expression.check_names(VALUES)
        assert isinstance(expression.value(VALUES), int)
    except UserError:
        pass

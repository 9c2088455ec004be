# SPDX-License-Identifier: Apache-2.0
"""C expressions as text with a precedence, combined with the parentheses that a reader needs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

ATOM, POSTFIX, UNARY, PRODUCT, SUM, SHIFT, ORDER, EQUALITY, BITS, LOGIC, CHOICE = range(11, 0, -1)
"""The precedence of operators, from the highest."""

_OPERATORS = {
    **dict.fromkeys(("*", "/", "%"), PRODUCT),
    **dict.fromkeys(("+", "-"), SUM),
    **dict.fromkeys(("<<", ">>"), SHIFT),
    **dict.fromkeys(("<", "<=", ">", ">="), ORDER),
    **dict.fromkeys(("==", "!="), EQUALITY),
    **dict.fromkeys(("&", "|", "^"), BITS),
    **dict.fromkeys(("&&", "||"), LOGIC),
}
_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Expression:
    """A value in C.

    Attributes:
        text: the C text.
        precedence: the precedence of its outermost operator.
        reads: whether it reads memory, and must be evaluated before later writes.
        mask_bits: for a mask, the width of its lanes, which are 0 or -1.
        scalar: for a splat, the scalar.
        head, operator, tail: the parts of a binary operation, for `a += b`.
    """

    text: str
    precedence: int = ATOM
    reads: bool = False
    mask_bits: int = 0
    scalar: Expression | None = None
    head: str = field(default="", compare=False)
    operator: str = field(default="", compare=False)
    tail: Expression | None = field(default=None, compare=False)

    @property
    def is_atom(self) -> bool:
        """Whether it is a name or a literal, which is as cheap as a variable."""
        return self.precedence == ATOM and not self.reads and "(" not in self.text

    def mentions(self, name: str) -> bool:
        """Whether it contains a variable."""
        return name in _WORD.findall(self.text)

    def named(self, name: str) -> Expression:
        """The variable with this value."""
        return Expression(name, mask_bits=self.mask_bits)


def binary(operator: str, a: Expression, b: Expression) -> Expression:
    """`a operator b`; a left operand with equal precedence has no parentheses for + and * only."""
    precedence = _OPERATORS[operator]
    left = _enclosed(a, precedence, operator)
    right = _enclosed(b, precedence + 1, operator)
    return Expression(
        f"{left} {operator} {right}",
        precedence,
        a.reads or b.reads,
        head=a.text,
        operator=operator,
        tail=b,
    )


def _enclosed(part: Expression, least: int, operator: str) -> str:
    """The operand, with parentheses if C or a careful reader needs them."""
    kind = _OPERATORS[operator]
    if kind == LOGIC:
        plain = part.precedence in (ORDER, EQUALITY) or part.operator == operator
    elif kind in (SHIFT, BITS):
        plain = False
    else:
        plain = part.precedence >= max(least, SUM)
    return part.text if plain or part.precedence >= UNARY else f"({part.text})"


def unary(operator: str, a: Expression) -> Expression:
    """A unary operation, such as `-a` or `~a`."""
    text = a.text if a.precedence >= POSTFIX and a.text[0] not in "+-" else f"({a.text})"
    return Expression(f"{operator}{text}", UNARY, a.reads)


def cast(type: str, a: Expression) -> Expression:
    """`(type)a`."""
    text = a.text if a.precedence >= UNARY else f"({a.text})"
    return Expression(f"({type}){text}", UNARY, a.reads)


def call(function: str, *arguments: Expression) -> Expression:
    """`function(arguments)`."""
    texts = ", ".join(operand.text for operand in arguments)
    return Expression(f"{function}({texts})", POSTFIX, any(operand.reads for operand in arguments))


def choice(condition: Expression, a: Expression, b: Expression) -> Expression:
    """`condition ? a : b`."""
    operands = (condition, a, b)
    texts = [f"({x.text})" if x.precedence <= CHOICE else x.text for x in operands]
    reads = any(x.reads for x in operands)
    return Expression(f"{texts[0]} ? {texts[1]} : {texts[2]}", CHOICE, reads)


def element(array: Expression, *indices: Expression, reads: bool = True) -> Expression:
    """`array[i][j]`, or `array[0]` without indices."""
    base = array.text if array.precedence >= POSTFIX else f"({array.text})"
    subscripts = "".join(f"[{index.text}]" for index in indices) or "[0]"
    return Expression(
        f"{base}{subscripts}", POSTFIX, reads or any(index.reads for index in indices)
    )


def address(lvalue: Expression) -> Expression:
    """`&lvalue`, which does not read the element."""
    return Expression(f"&{lvalue.text}", UNARY)


def assignment(target: str, value: Expression) -> str:
    """`target = value;`, or `target += rest;` if the value begins with the target."""
    if value.head == target and value.operator in ("+", "-", "*") and value.tail is not None:
        return f"{target} {value.operator}= {value.tail.text};"
    return f"{target} = {value.text};"


def with_mask(value: Expression, bits: int) -> Expression:
    """The same expression as a mask with lanes of `bits`."""
    return replace(value, mask_bits=bits)

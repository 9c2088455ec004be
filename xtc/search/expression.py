# SPDX-License-Identifier: Apache-2.0
"""Integer expressions of strategies, such as `iR * jR <= 28 * V`: parsed by Python, evaluated here.

Allowed are integers, names, `+ - * // % **`, comparisons (also chained), `and or not`, `min`, `max`
and `abs`. Values stay below 2^62, which bounds the evaluation time.
"""

from __future__ import annotations

import ast
import operator
import warnings
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from xtc.core.errors import UserError, did_you_mean, shown
from xtc.core.location import SourceLocation

MAX_TEXT = 500
MAX_VALUE = 1 << 62
_MAX_EXPONENT = 62

Values = Mapping[str, int]
_Evaluate = Callable[[Values], int]


def _power(base: int, exponent: int) -> int:
    if not 0 <= exponent <= _MAX_EXPONENT:
        raise ValueError(f"the exponent {exponent} is not in 0..{_MAX_EXPONENT}")
    return int(base**exponent)


_BINARY: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
_UNARY: dict[type[ast.unaryop], Callable[[int], int]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: lambda value: int(not value),
}
_COMPARE: dict[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_CALLS: dict[str, Callable[..., int]] = {"min": min, "max": max, "abs": abs}
_HINT = "an expression has integers, names, + - * // % **, < <= > >= == !=, and or not, min max abs"


@dataclass(frozen=True)
class Expression:
    """A parsed expression: its text, the names in it, and its value for values of these."""

    text: str
    names: frozenset[str]
    where: SourceLocation | None
    _evaluate: _Evaluate

    def value(self, values: Values) -> int:
        """The value; comparisons are 0 or 1. Raises UserError, such as for a division by zero."""
        try:
            return self._evaluate(values)
        except (ArithmeticError, ValueError) as error:
            used = ", ".join(f"{name} = {values[name]}" for name in sorted(self.names))
            notes = [f"where {used}"] if used else []
            raise UserError(
                f"'{self.text}' has no value: {error}", where=self.where, notes=notes
            ) from None

    def check_names(self, known: Collection[str]) -> None:
        """Raise UserError for a name that is not in `known`."""
        for name in sorted(self.names - set(known)):
            raise UserError(
                f"'{self.text}' has the unknown name '{name}'",
                where=self.where,
                hints=did_you_mean(name, known),
            )


def parse_expression(text: object, where: SourceLocation | None = None) -> Expression:
    """The expression in `text`, which may also be an integer. Raises UserError."""
    if isinstance(text, int) and not isinstance(text, bool):
        text = str(text)
    if not isinstance(text, str) or len(text) > MAX_TEXT:
        raise UserError(
            f"{shown(text)} is not an expression",
            where=where,
            notes=[f"{MAX_TEXT} characters at most"],
        )
    return _Parser(text.strip(), where).parse()


class _Parser:
    """Turns a syntax tree into nested functions; refuses other kinds of nodes."""

    def __init__(self, text: str, where: SourceLocation | None) -> None:
        self._text = text
        self._where = where
        self._names: set[str] = set()

    def parse(self) -> Expression:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SyntaxWarning)  # "3 in 4", refused below
                tree = ast.parse(self._text, mode="eval")
            evaluate = self._node(tree.body)
        except SyntaxError as error:
            what = f"'{self._text}' cannot be read: {error.msg}"
            raise self._error(what, error.offset) from None
        except (ValueError, RecursionError, MemoryError):
            raise self._error(f"{shown(self._text)} cannot be read", None) from None
        return Expression(self._text, frozenset(self._names), self._where, evaluate)

    def _error(self, what: str, column: int | None) -> UserError:
        notes = [] if column is None else [f"at character {column}"]
        return UserError(what, where=self._where, notes=notes, hints=[_HINT])

    def _node(self, node: ast.expr) -> _Evaluate:
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return self._constant(node, node.value)
        if isinstance(node, ast.Name):
            name = node.id
            self._names.add(name)
            return lambda values: values[name]
        if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
            return self._binary(_BINARY[type(node.op)], node.left, node.right)
        if isinstance(node, ast.UnaryOp) and type(node.op) in _UNARY:
            function, inner = _UNARY[type(node.op)], self._node(node.operand)
            return lambda values: function(inner(values))
        if isinstance(node, ast.BoolOp):
            return self._boolean(node)
        if isinstance(node, ast.Compare) and all(type(op) in _COMPARE for op in node.ops):
            return self._compare(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        part = ast.get_source_segment(self._text, node) or self._text
        raise self._error(f"'{part}' is not allowed in an expression", node.col_offset + 1)

    def _constant(self, node: ast.expr, number: int) -> _Evaluate:
        if number > MAX_VALUE:
            raise self._error("a number is out of range", node.col_offset + 1)
        return lambda values: number

    def _binary(
        self, function: Callable[[int, int], int], left: ast.expr, right: ast.expr
    ) -> _Evaluate:
        first, second = self._node(left), self._node(right)

        def evaluate(values: Values) -> int:
            result = function(first(values), second(values))
            if abs(result) > MAX_VALUE:
                raise OverflowError("it is out of range")
            return result

        return evaluate

    def _boolean(self, node: ast.BoolOp) -> _Evaluate:
        parts = [self._node(value) for value in node.values]
        test = all if isinstance(node.op, ast.And) else any
        return lambda values: int(test(part(values) for part in parts))

    def _compare(self, node: ast.Compare) -> _Evaluate:
        tests = [_COMPARE[type(op)] for op in node.ops]
        parts = [self._node(operand) for operand in (node.left, *node.comparators)]

        def evaluate(values: Values) -> int:
            numbers = [part(values) for part in parts]
            pairs = zip(tests, numbers, numbers[1:], strict=False)
            return int(all(test(left, right) for test, left, right in pairs))

        return evaluate

    def _call(self, node: ast.Call) -> _Evaluate:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        enough = len(node.args) == 1 if name == "abs" else len(node.args) >= 2
        plain = not node.keywords and not any(isinstance(arg, ast.Starred) for arg in node.args)
        if name not in _CALLS or not enough or not plain:
            called = ast.get_source_segment(self._text, node) or self._text
            raise self._error(f"'{called}' is not a function of expressions", node.col_offset + 1)
        function, parts = _CALLS[name], [self._node(arg) for arg in node.args]
        return lambda values: function(*(part(values) for part in parts))

# SPDX-License-Identifier: Apache-2.0
"""Parses expressions, including types."""

from __future__ import annotations

import ast
from collections.abc import Callable

from xtc_targets.wse.csl import tree
from xtc_targets.wse.csl.errors import CslError, Position
from xtc_targets.wse.csl.reader import Reader

PRECEDENCE = {
    operator: level
    for level, operators in enumerate(
        ("or", "and", "== != < <= > >=", "|", "^", "&", "<< >>", "+ - ++", "* / % **")
    )
    for operator in operators.split()
}
"""Binary operators; a higher number binds closer. All associate to the left."""

_UNARY = ("-", "!", "~", "&")


class ExpressionParser(Reader):
    """Parses the expressions of one file."""

    def expression(self) -> tree.Expr:
        return self.nested(self._expression)

    def _expression(self) -> tree.Expr:
        return self._binary(0)

    def type(self) -> tree.Expr:
        """Parse an expression without literals `T { ... }`, because a block may follow it."""
        return self.nested(lambda: self._postfix(self._primary(literals=False), literals=False))

    def _binary(self, level: int) -> tree.Expr:
        left = self._unary()
        while self.token.kind in ("sign", "keyword"):
            operator = self.token.text
            binds = PRECEDENCE.get(operator, -1)
            if binds < level:
                break
            at = self.take().at
            right = self._binary(binds + 1)
            left = tree.Binary(operator, left, right, at=at)
        return left

    def _unary(self) -> tree.Expr:
        at = self.at
        if operator := self.accept(*_UNARY):
            return tree.Unary(operator, self.nested(self._unary), at=at)
        if self.accept("comptime"):
            return tree.ComptimeExpr(self.nested(self._unary), at=at)
        return self._postfix(self._primary(literals=True), literals=True)

    def _postfix(self, base: tree.Expr, *, literals: bool) -> tree.Expr:
        while True:
            at = self.at
            if self.accept("."):
                base = tree.Member(base, self._member(), at=at)
            elif self.accept(".*"):
                base = tree.Deref(base, at=at)
            elif self.accept("["):
                base = tree.Index(base, self.several(self.expression, "]"), at=at)
            elif self.accept("("):
                base = tree.Call(base, self.several(self.expression, ")"), at=at)
            elif literals and self._begins_literal(base):
                self.take()
                base = tree.StructLiteral(base, self.several(self._field, "}"), at=at)
            else:
                return base

    def _member(self) -> str:
        if self.token.kind == "keyword":  # `.param`, `.layout` are ordinary fields
            return self.take().text
        return self.name("a field")

    def _begins_literal(self, base: tree.Expr) -> bool:
        if not self.next_is("{") or not isinstance(base, tree.Name | tree.Member):
            return False
        first, second = self.ahead(1), self.ahead(2)
        return first.text == "}" or (
            first.text == "." and second.kind in ("name", "keyword") and self.ahead(3).text == "="
        )

    def _primary(self, *, literals: bool) -> tree.Expr:
        token = self.token
        parse = _BY_KIND.get(token.kind) or _BY_TEXT.get(token.text)
        if parse is None:
            raise self.unexpected("an expression")
        if token.text == "[":
            return self._bracket(literals)
        return parse(self)

    def _number(self) -> tree.Expr:
        token = self.take()
        return tree.Number(_number(token.text, token.at), token.text, at=token.at)

    def _string(self) -> tree.Expr:
        token = self.take()
        return tree.String(_unescaped(token.text, token.at), at=token.at)

    def _char(self) -> tree.Expr:
        token = self.take()
        return tree.Number(ord(_unescaped(token.text, token.at)), token.text, at=token.at)

    def _name(self) -> tree.Expr:
        token = self.take()
        return tree.Name(token.text, at=token.at)

    def _builtin(self) -> tree.Expr:
        token = self.take()
        self.expect("(", token.text)
        return tree.Builtin(token.text[1:], self.several(self.expression, ")"), at=token.at)

    def _group(self) -> tree.Expr:
        self.take()
        inner = self.expression()
        self.expect(")")
        return inner

    def _anonymous(self) -> tree.Expr:
        at = self.take().at
        if self.accept("{"):
            return tree.StructLiteral(None, self.several(self._field, "}"), at=at)
        raise self.unexpected("'{' after '.'")

    def _void(self) -> tree.Expr:
        at = self.take().at
        self.expect("}", "'{' in an expression")
        return tree.VoidLiteral(at=at)

    def _field(self) -> tree.Field:
        at = self.at
        named = self.next_is(".") and self.ahead(2).text == "=" and self.ahead(1).text != "{"
        if not named:
            return tree.Field(None, self.expression(), at=at)
        self.take()
        name = self._member()
        self.expect("=")
        return tree.Field(name, self.expression(), at=at)

    def _access(self) -> tree.Expr:
        at = self.take().at
        names = self.several(lambda: self.name("an index"), "|")
        self.expect("{", "the indices of an access")
        extents = self.several(self.expression, "}")
        self.expect("->", "the extents of an access")
        return tree.Access(names, extents, self.expression(), at=at)

    def _if(self) -> tree.Expr:
        at = self.take().at
        self.expect("(", "if")
        condition = self.expression()
        self.expect(")")
        then = self.expression()
        otherwise = self.expression() if self.accept("else") else None
        return tree.IfExpr(condition, then, otherwise, at=at)

    def _switch(self) -> tree.Expr:
        at = self.take().at
        self.expect("(", "switch")
        value = self.expression()
        self.expect(")")
        self.expect("{")
        return tree.SwitchExpr(value, self.several(self._value_case, "}"), at=at)

    def _value_case(self) -> tree.Case:
        at, values = self.at, self.case_values()
        return tree.Case(values, self.expression(), at=at)

    def case_values(self) -> tuple[tree.Expr, ...]:
        """Parse the values of a case, up to its arrow; empty for `else`."""
        if self.accept("else"):
            self.expect("=>")
            return ()
        return self.several(self.expression, "=>")

    def _pointer(self) -> tree.Expr:
        at = self.take().at
        const = bool(self.accept("const"))
        return tree.PointerType(self.type(), False, const, at=at)

    def _bracket(self, literals: bool) -> tree.Expr:
        at = self.take().at
        if self.next_is("*") and self.ahead(1).text == "]":
            self.take(), self.take()
            const = bool(self.accept("const"))
            return tree.PointerType(self.type(), True, const, at=at)
        extents = self.several(self.expression, "]")
        array = tree.ArrayType(extents, self.type(), at=at)
        if literals and self.accept("{"):
            return tree.ArrayLiteral(array, self.several(self.expression, "}"), at=at)
        return array

    def _fn_type(self) -> tree.Expr:
        at = self.take().at
        self.expect("(", "fn")
        return tree.FnType(self.several(self.type, ")"), self.type(), at=at)

    def _struct_type(self) -> tree.Expr:
        at = self.at
        layout = self.accept("packed", "extern") or ""
        union = self.next_is("union")
        if not self.accept("struct", "union"):
            raise self.unexpected("'struct' or 'union'")
        self.expect("{")
        return tree.StructType(self.several(self._typed_name, "}"), layout, union, at=at)

    def _typed_name(self) -> tree.TypedName:
        at, name = self.at, self._member()
        self.expect(":", "the name of a field")
        return tree.TypedName(name, self.type(), at=at)

    def _enum_type(self) -> tree.Expr:
        at = self.take().at
        self.expect("(", "enum")
        base = self.type()
        self.expect(")")
        self.expect("{")
        return tree.EnumType(base, self.several(self._enum_member, "}"), at=at)

    def _enum_member(self) -> tree.Field:
        at, name = self.at, self.name("a member")
        value = self.expression() if self.accept("=") else tree.VoidLiteral(at=at)
        return tree.Field(name, value, at=at)


_Parse = Callable[[ExpressionParser], tree.Expr]
_BY_KIND: dict[str, _Parse] = {
    "number": ExpressionParser._number,
    "string": ExpressionParser._string,
    "char": ExpressionParser._char,
    "name": ExpressionParser._name,
    "builtin": ExpressionParser._builtin,
}
_BY_TEXT: dict[str, _Parse] = {
    "(": ExpressionParser._group,
    ".": ExpressionParser._anonymous,
    "{": ExpressionParser._void,
    "|": ExpressionParser._access,
    "if": ExpressionParser._if,
    "switch": ExpressionParser._switch,
    "*": ExpressionParser._pointer,
    "[": ExpressionParser._group,  # see `_bracket`, which handles literals
    "fn": ExpressionParser._fn_type,
    "task": ExpressionParser._fn_type,
    "struct": ExpressionParser._struct_type,
    "union": ExpressionParser._struct_type,
    "packed": ExpressionParser._struct_type,
    "extern": ExpressionParser._struct_type,
    "enum": ExpressionParser._enum_type,
}


def _number(text: str, at: Position) -> int | float:
    plain = text.replace("_", "")
    if len(plain) > 1000:
        raise CslError("a number of more than 1,000 digits", where=at)
    if plain[:2].lower() == "0x" and ("." in plain or "p" in plain.lower()):
        return float.fromhex(plain)
    if plain[:2].lower() in ("0x", "0b", "0o"):
        return int(plain, 0)
    if "." in plain or "e" in plain.lower():
        return float(plain)
    return int(plain)


def _unescaped(text: str, at: Position) -> str:
    try:
        return str(ast.literal_eval(text))
    except (ValueError, SyntaxError):
        raise CslError(f"{text} has an invalid escape", where=at) from None

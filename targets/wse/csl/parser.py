# SPDX-License-Identifier: Apache-2.0
"""Parses files: declarations and statements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from xtc_targets.wse.csl import tree
from xtc_targets.wse.csl.depth import deep_calls
from xtc_targets.wse.csl.expression_parser import ExpressionParser

_ASSIGNMENTS = ("=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=")
_ATTRIBUTES = ("align", "linksection", "linkname")


def parse(text: str, name: str) -> tree.File:
    """Parse a file's text; errors use `name` for the file. Raises CslError."""
    parser = Parser(text, name)
    items = []
    with deep_calls():
        while parser.token.kind != "end":
            items.append(parser.item())
    return tree.File(name, tuple(items))


def parse_type(text: str, at: tree.Position) -> tree.Expr:
    """Parse a type that is not part of a program; errors refer to `at`. Raises CslError."""
    parser = Parser(text, at.file)
    with deep_calls():
        found = parser.type()
    if parser.token.kind != "end":
        raise parser.unexpected("the end of a type")
    return found


class Parser(ExpressionParser):
    """Parses the statements of one file."""

    def item(self) -> tree.Stmt:
        """Parse an item at the top level of a file."""
        at = self.at
        if self.accept("layout"):
            return tree.Layout(self.block(), at=at)
        if self.next_is("comptime") and self.ahead(1).text == "{":
            return self.statement()
        if declared := self._declared():
            return declared
        raise self.unexpected("a declaration")

    def block(self) -> tree.Block:
        at = self.expect("{").at
        body = []
        while not self.accept("}"):
            body.append(self.statement())
        return tree.Block(tuple(body), at=at)

    def statement(self) -> tree.Stmt:
        return self.nested(self._statement)

    def _statement(self) -> tree.Stmt:
        at = self.at
        if self.token.kind == "name" and self.ahead(1).text == ":":
            return self._labeled()
        if self.next_is("comptime") and self.ahead(1).text not in ("var", "const"):
            return self._comptime()
        if self.next_is("{"):
            return self.block()
        if self.next_is("inline") and self.ahead(1).text == "for":
            self.take()
            return replace(self._for(), comptime=True, at=at)
        if parse := _STATEMENTS.get(self.token.text):
            return parse(self)
        if declared := self._declared():
            return declared
        statement = self._simple()
        if not self.next_is("else"):  # belongs to the enclosing `if`
            self.expect(";", "a statement")
        return replace(statement, at=at)

    def _labeled(self) -> tree.Stmt:
        label = self.take().text
        self.take()
        statement = self.statement()
        if not isinstance(statement, tree.For | tree.While | tree.Block):
            raise self.unexpected("a loop or a block after a label")
        return replace(statement, label=label)

    def _comptime(self) -> tree.Stmt:
        at = self.take().at
        statement = self.statement()
        if isinstance(statement, tree.Block | tree.If | tree.For | tree.While):
            return replace(statement, comptime=True, at=at)
        return tree.Block((statement,), comptime=True, at=at)

    def _simple(self) -> tree.Stmt:
        """Parse an assignment or a call, without its semicolon."""
        at, value = self.at, self.expression()
        if operator := self.accept(*_ASSIGNMENTS):
            return tree.Assign(value, operator[:-1], self.expression(), at=at)
        return tree.ExprStmt(value, at=at)

    def _condition(self, of: str) -> tree.Expr:
        self.take()
        self.expect("(", of)
        condition = self.expression()
        self.expect(")")
        return condition

    def _if_statement(self) -> tree.Stmt:
        at, condition = self.at, self._condition("if")
        then = self.statement()
        otherwise = self.statement() if self.accept("else") else None
        return tree.If(condition, then, otherwise, at=at)

    def _while(self) -> tree.Stmt:
        at, condition = self.at, self._condition("while")
        step = None
        if self.accept(":"):
            self.expect("(")
            step = self._simple()
            self.expect(")")
        return tree.While(condition, step, self.statement(), at=at)

    def _for(self) -> tree.For:
        at, value = self.at, self._condition("for")
        self.expect("|", "a loop variable, |name|,")
        element = self.name("the loop's variable")
        index = self.name("the loop's index") if self.accept(",") else None
        self.expect("|")
        return tree.For(value, element, index, self.statement(), at=at)

    def _switch_statement(self) -> tree.Stmt:
        at, value = self.at, self._condition("switch")
        self.expect("{")
        return tree.Switch(value, self.several(self._case, "}"), at=at)

    def _case(self) -> tree.Case:
        at, values = self.at, self.case_values()
        body = self.block() if self.next_is("{") else replace(self._simple(), at=self.at)
        return tree.Case(values, body, at=at)

    def _return(self) -> tree.Stmt:
        at = self.take().at
        value = None if self.next_is(";") else self.expression()
        self.expect(";", "return")
        return tree.Return(value, at=at)

    def _leave(self) -> tree.Stmt:
        token = self.take()
        label = None
        if self.accept(":"):
            label = self.name("a label")
        self.expect(";", token.text)
        return tree.Leave(token.text, label, at=token.at)

    def _declared(self) -> tree.Stmt | None:
        at = self.at
        storage = self.accept("export", "extern") or ""
        inline = self.accept("inline", "noinline") or ""
        if self.next_is("fn", "task"):
            return replace(self._function(storage, inline), at=at)
        comptime = bool(self.accept("comptime"))
        if kind := self.accept("var", "const", "param"):
            return replace(self._declaration(kind, storage, comptime), at=at)
        if storage or inline or comptime:
            raise self.unexpected("a declaration")
        return None

    def _declaration(self, kind: str, storage: str, comptime: bool) -> tree.Declaration:
        name = self.name(f"a {kind}")
        declared = self.type() if self.accept(":") else None
        attributes = self._attributes()
        value = self.expression() if self.accept("=") else None
        self.expect(";", f"the declaration of '{name}'")
        return tree.Declaration(kind, name, declared, value, storage, comptime, attributes)

    def _function(self, storage: str, inline: str) -> tree.Function:
        kind = self.take().text
        name = self.name(f"a {kind}")
        self.expect("(", f"the name of a {kind}")
        params = self.several(self._parameter, ")")
        attributes = self._attributes()
        result = self.type()
        attributes += self._attributes()
        body = None if self.accept(";") else self.block()
        return tree.Function(kind, name, params, result, body, storage, inline, attributes)

    def _parameter(self) -> tree.Parameter:
        at = self.at
        comptime = bool(self.accept("comptime"))
        name = self.name("a parameter")
        self.expect(":", f"the parameter '{name}'")
        return tree.Parameter(name, self.type(), comptime, at=at)

    def _attributes(self) -> tuple[tree.Field, ...]:
        found: list[tree.Field] = []
        while self.next_is(*_ATTRIBUTES):
            token = self.take()
            self.expect("(", token.text)
            found.append(tree.Field(token.text, self.expression(), at=token.at))
            self.expect(")")
        return tuple(found)


_STATEMENTS: dict[str, Callable[[Parser], tree.Stmt]] = {
    "if": Parser._if_statement,
    "while": Parser._while,
    "for": Parser._for,
    "switch": Parser._switch_statement,
    "return": Parser._return,
    "break": Parser._leave,
    "continue": Parser._leave,
}

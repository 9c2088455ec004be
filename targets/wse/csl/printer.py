# SPDX-License-Identifier: Apache-2.0
"""Prints CSL trees as text that parses to an equal tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xtc_targets.wse.csl import tree
from xtc_targets.wse.csl.depth import deep_calls

_INDENT = "  "
_ESCAPES = str.maketrans({'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"})


def print_file(file: tree.File) -> str:
    """The text of a file."""
    with deep_calls():
        return "".join(f"{print_statement(item)}\n" for item in file.items)


def print_expression(expr: tree.Expr) -> str:
    """The text of an expression; compound operands are parenthesized."""
    return _EXPRESSIONS[type(expr)](expr)


def print_statement(statement: tree.Stmt, indent: str = "") -> str:
    """The text of a statement, beginning with the indentation of its first line."""
    return indent + _STATEMENTS[type(statement)](statement, indent)


def _operand(expr: tree.Expr) -> str:
    text = print_expression(expr)
    simple = (
        tree.Number | tree.String | tree.Name | tree.Builtin | tree.Call | tree.Member | tree.Index
    )
    return text if isinstance(expr, simple | tree.Deref) else f"({text})"


def _listed(exprs: Sequence[tree.Expr]) -> str:
    return ", ".join(map(print_expression, exprs))


def _fields(fields: Sequence[tree.Field]) -> str:
    each = (
        print_expression(field.value)
        if field.name is None
        else f".{field.name} = {print_expression(field.value)}"
        for field in fields
    )
    return f"{{ {', '.join(each)} }}" if fields else "{}"


def _struct_literal(expr: tree.StructLiteral) -> str:
    before = "." if expr.type is None else f"{print_expression(expr.type)} "
    return before + _fields(expr.fields)


def _if_expression(expr: tree.IfExpr) -> str:
    text = f"if ({print_expression(expr.condition)}) {_operand(expr.then)}"
    return text if expr.otherwise is None else f"{text} else {_operand(expr.otherwise)}"


def _switch_expression(expr: tree.SwitchExpr) -> str:
    cases = ", ".join(
        f"{_values(case)} => {print_expression(case.body)}"
        for case in expr.cases
        if isinstance(case.body, tree.Expr)
    )
    return f"switch ({print_expression(expr.value)}) {{ {cases} }}"


def _values(case: tree.Case) -> str:
    return _listed(case.values) if case.values else "else"


def _access(expr: tree.Access) -> str:
    names, extents = ", ".join(expr.names), _listed(expr.extents)
    return f"|{names}|{{{extents}}} -> {print_expression(expr.body)}"


def _pointer(expr: tree.PointerType) -> str:
    const = "const " if expr.const else ""
    return f"{'[*]' if expr.many else '*'}{const}{print_expression(expr.element)}"


def _struct_type(expr: tree.StructType) -> str:
    layout = f"{expr.layout} " if expr.layout else ""
    fields = ", ".join(f"{each.name}: {print_expression(each.type)}" for each in expr.fields)
    return f"{layout}{'union' if expr.union else 'struct'} {{ {fields} }}"


def _enum_type(expr: tree.EnumType) -> str:
    members = ", ".join(
        str(each.name)
        if isinstance(each.value, tree.VoidLiteral)
        else f"{each.name} = {print_expression(each.value)}"
        for each in expr.members
    )
    return f"enum({print_expression(expr.base)}) {{ {members} }}"


_EXPRESSIONS: dict[type[tree.Expr], Callable[[Any], str]] = {
    tree.Number: lambda e: e.text,
    tree.String: lambda e: f'"{e.value.translate(_ESCAPES)}"',
    tree.Name: lambda e: e.name,
    tree.Builtin: lambda e: f"@{e.name}({_listed(e.args)})",
    tree.Call: lambda e: f"{_operand(e.callee)}({_listed(e.args)})",
    tree.Member: lambda e: f"{_operand(e.base)}.{e.name}",
    tree.Deref: lambda e: f"{_operand(e.base)}.*",
    tree.Index: lambda e: f"{_operand(e.base)}[{_listed(e.indices)}]",
    tree.Unary: lambda e: f"{e.op}{_operand(e.operand)}",
    tree.Binary: lambda e: f"{_operand(e.left)} {e.op} {_operand(e.right)}",
    tree.IfExpr: _if_expression,
    tree.ComptimeExpr: lambda e: f"comptime {_operand(e.value)}",
    tree.StructLiteral: _struct_literal,
    tree.ArrayLiteral: lambda e: f"{print_expression(e.type)} {{ {_listed(e.items)} }}",
    tree.VoidLiteral: lambda e: "{}",
    tree.Access: _access,
    tree.ArrayType: lambda e: f"[{_listed(e.extents)}]{print_expression(e.element)}",
    tree.PointerType: _pointer,
    tree.FnType: lambda e: f"fn ({_listed(e.params)}) {print_expression(e.result)}",
    tree.StructType: _struct_type,
    tree.EnumType: _enum_type,
    tree.SwitchExpr: _switch_expression,
}


def _block(block: tree.Block, indent: str) -> str:
    before = (f"{block.label}: " if block.label else "") + ("comptime " if block.comptime else "")
    if not block.body:
        return before + "{\n" + indent + "}"
    lines = [print_statement(each, indent + _INDENT) for each in block.body]
    return "\n".join([before + "{", *lines, indent + "}"])


def _attributes(attributes: Sequence[tree.Field]) -> str:
    return "".join(f" {each.name}({print_expression(each.value)})" for each in attributes)


def _declaration(item: tree.Declaration, indent: str) -> str:
    words = [item.storage, "comptime" if item.comptime else "", item.kind, item.name]
    text = " ".join(word for word in words if word)
    if item.type is not None:
        text += f": {print_expression(item.type)}"
    text += _attributes(item.attributes)
    return text + (f" = {print_expression(item.value)};" if item.value is not None else ";")


def _function(item: tree.Function, indent: str) -> str:
    params = ", ".join(
        ("comptime " if each.comptime else "") + f"{each.name}: {print_expression(each.type)}"
        for each in item.params
    )
    words = [item.storage, item.inline, item.kind, f"{item.name}({params})"]
    head = " ".join(word for word in words if word) + _attributes(item.attributes)
    head += f" {print_expression(item.result)}"
    return head + (";" if item.body is None else " " + _block(item.body, indent))


def _body(statement: tree.Stmt, indent: str) -> str:
    return print_statement(statement, indent)[len(indent) :]


def _if(item: tree.If, indent: str) -> str:
    before = "comptime " if item.comptime else ""
    then = item.then if isinstance(item.then, tree.Block) else tree.Block((item.then,))
    text = f"{before}if ({print_expression(item.condition)}) {_block(then, indent)}"
    if item.otherwise is None:
        return text
    return f"{text} else {_body(item.otherwise, indent)}"


def _loop_head(item: tree.For | tree.While) -> str:
    return (f"{item.label}: " if item.label else "") + ("comptime " if item.comptime else "")


def _for(item: tree.For, indent: str) -> str:
    names = item.element if item.index is None else f"{item.element}, {item.index}"
    head = f"{_loop_head(item)}for ({print_expression(item.value)}) |{names}| "
    return head + _body(item.body, indent)


def _while(item: tree.While, indent: str) -> str:
    step = "" if item.step is None else f" : ({print_statement(item.step)[:-1]})"
    head = f"{_loop_head(item)}while ({print_expression(item.condition)}){step} "
    return head + _body(item.body, indent)


def _switch(item: tree.Switch, indent: str) -> str:
    inner = indent + _INDENT
    cases = []
    for case in item.cases:
        if isinstance(case.body, tree.Stmt):
            body = _body(case.body, inner)
            body = body if isinstance(case.body, tree.Block) else body[:-1]
            cases.append(f"{inner}{_values(case)} => {body},")
    return "\n".join([f"switch ({print_expression(item.value)}) {{", *cases, indent + "}"])


def _assign(item: tree.Assign, indent: str) -> str:
    return f"{print_expression(item.target)} {item.op}= {print_expression(item.value)};"


def _return(item: tree.Return, indent: str) -> str:
    return "return;" if item.value is None else f"return {print_expression(item.value)};"


def _leave(item: tree.Leave, indent: str) -> str:
    return item.kind + (f" :{item.label};" if item.label else ";")


_STATEMENTS: dict[type[tree.Stmt], Callable[[Any, str], str]] = {
    tree.Block: _block,
    tree.Declaration: _declaration,
    tree.Function: _function,
    tree.Layout: lambda item, indent: f"layout {_block(item.body, indent)}",
    tree.ExprStmt: lambda item, indent: f"{print_expression(item.value)};",
    tree.Assign: _assign,
    tree.If: _if,
    tree.For: _for,
    tree.While: _while,
    tree.Switch: _switch,
    tree.Return: _return,
    tree.Leave: _leave,
}

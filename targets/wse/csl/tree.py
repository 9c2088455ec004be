# SPDX-License-Identifier: Apache-2.0
"""The syntax tree of CSL. Nodes have a position, which comparisons ignore."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from xtc_targets.wse.csl.errors import BUILT_IN as BUILT_IN
from xtc_targets.wse.csl.errors import Position as Position


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node of the tree."""

    at: Position = field(default=BUILT_IN, compare=False, repr=False)


class Expr(Node):
    """An expression; types are expressions too."""

    __slots__ = ()


class Stmt(Node):
    """A statement."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Number(Expr):
    """A number; `text` is its spelling."""

    value: int | float
    text: str = field(compare=False)


@dataclass(frozen=True, slots=True)
class String(Expr):
    """A string with its escapes resolved."""

    value: str


@dataclass(frozen=True, slots=True)
class Name(Expr):
    """A name."""

    name: str


@dataclass(frozen=True, slots=True)
class Builtin(Expr):
    """`@name(args)`; `name` excludes the @."""

    name: str
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Call(Expr):
    """`callee(args)`."""

    callee: Expr
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Member(Expr):
    """`base.name`."""

    base: Expr
    name: str


@dataclass(frozen=True, slots=True)
class Deref(Expr):
    """`base.*`."""

    base: Expr


@dataclass(frozen=True, slots=True)
class Index(Expr):
    """`base[indices]`."""

    base: Expr
    indices: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Unary(Expr):
    """An operator before its operand."""

    op: str
    operand: Expr


@dataclass(frozen=True, slots=True)
class Binary(Expr):
    """An operator between its operands."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class IfExpr(Expr):
    """`if (condition) then else otherwise`."""

    condition: Expr
    then: Expr
    otherwise: Expr | None


@dataclass(frozen=True, slots=True)
class ComptimeExpr(Expr):
    """`comptime value`."""

    value: Expr


@dataclass(frozen=True, slots=True)
class Field(Node):
    """`.name = value`, or a positional value."""

    name: str | None
    value: Expr


@dataclass(frozen=True, slots=True)
class StructLiteral(Expr):
    """`.{ ... }`, or `Type { ... }`."""

    type: Expr | None
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class ArrayLiteral(Expr):
    """`[N]T { ... }`; the type's only extent may be the name `_`."""

    type: ArrayType
    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class VoidLiteral(Expr):
    """`{}` as a value."""


@dataclass(frozen=True, slots=True)
class Access(Expr):
    """`|i, j|{M, N} -> A[i, j]`."""

    names: tuple[str, ...]
    extents: tuple[Expr, ...]
    body: Expr


@dataclass(frozen=True, slots=True)
class ArrayType(Expr):
    """`[extents]element`."""

    extents: tuple[Expr, ...]
    element: Expr


@dataclass(frozen=True, slots=True)
class PointerType(Expr):
    """`*element`, or `[*]element` for a pointer to many."""

    element: Expr
    many: bool
    const: bool


@dataclass(frozen=True, slots=True)
class FnType(Expr):
    """`fn(params) result`."""

    params: tuple[Expr, ...]
    result: Expr


@dataclass(frozen=True, slots=True)
class TypedName(Node):
    """`name: type`."""

    name: str
    type: Expr


@dataclass(frozen=True, slots=True)
class StructType(Expr):
    """`struct { name: type, ... }`; `layout` is "", "packed" or "extern"."""

    fields: tuple[TypedName, ...]
    layout: str = ""
    union: bool = False


@dataclass(frozen=True, slots=True)
class EnumType(Expr):
    """`enum(base) { members }`."""

    base: Expr
    members: tuple[Field, ...]
    """The members, each with its name; the value is `VoidLiteral` if none is given."""


@dataclass(frozen=True, slots=True)
class Case(Node):
    """A case of a switch; no values mean `else`."""

    values: tuple[Expr, ...]
    body: Stmt | Expr


@dataclass(frozen=True, slots=True)
class SwitchExpr(Expr):
    """A switch expression."""

    value: Expr
    cases: tuple[Case, ...]


@dataclass(frozen=True, slots=True)
class Block(Stmt):
    """`{ body }`."""

    body: tuple[Stmt, ...]
    comptime: bool = False
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Declaration(Stmt):
    """`var`, `const` or `param`; attributes are `align`, `linksection` and `linkname`."""

    kind: str
    name: str
    type: Expr | None
    value: Expr | None
    storage: str = ""
    comptime: bool = False
    attributes: tuple[Field, ...] = ()


@dataclass(frozen=True, slots=True)
class Parameter(Node):
    """A parameter of a function."""

    name: str
    type: Expr
    comptime: bool = False


@dataclass(frozen=True, slots=True)
class Function(Stmt):
    """`fn` or `task`; a declaration has no body."""

    kind: str
    name: str
    params: tuple[Parameter, ...]
    result: Expr
    body: Block | None
    storage: str = ""
    inline: str = ""
    attributes: tuple[Field, ...] = ()


@dataclass(frozen=True, slots=True)
class Layout(Stmt):
    """The `layout` block."""

    body: Block


@dataclass(frozen=True, slots=True)
class ExprStmt(Stmt):
    """An expression whose value is discarded."""

    value: Expr


@dataclass(frozen=True, slots=True)
class Assign(Stmt):
    """`op` is "" for `=`, else the operator before it."""

    target: Expr
    op: str
    value: Expr


@dataclass(frozen=True, slots=True)
class If(Stmt):
    """The `if` statement."""

    condition: Expr
    then: Stmt
    otherwise: Stmt | None
    comptime: bool = False


@dataclass(frozen=True, slots=True)
class For(Stmt):
    """`for (value) |element, index| body`."""

    value: Expr
    element: str
    index: str | None
    body: Stmt
    label: str | None = None
    comptime: bool = False


@dataclass(frozen=True, slots=True)
class While(Stmt):
    """`while (condition) : (step) body`."""

    condition: Expr
    step: Stmt | None
    body: Stmt
    label: str | None = None
    comptime: bool = False


@dataclass(frozen=True, slots=True)
class Switch(Stmt):
    """The `switch` statement."""

    value: Expr
    cases: tuple[Case, ...]


@dataclass(frozen=True, slots=True)
class Return(Stmt):
    """`return value;`."""

    value: Expr | None


@dataclass(frozen=True, slots=True)
class Leave(Stmt):
    """`break` or `continue`."""

    kind: str
    label: str | None = None


@dataclass(frozen=True, slots=True)
class File:
    """One file: its declarations, functions, `comptime` and `layout` blocks in order."""

    name: str
    items: tuple[Stmt, ...]


Declared: TypeAlias = Declaration | Function

# SPDX-License-Identifier: Apache-2.0
"""Values: known at compile time, or computed by code on the PE."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from xtc_targets.wse.csl import tree
from xtc_targets.wse.sema import types as t

if TYPE_CHECKING:
    from xtc_targets.wse.sema.module import Module


@dataclass(frozen=True, slots=True)
class Const:
    """A value that is known at compile time.

    The Python type of `value` depends on the type: an int for integers, handles and enums; float;
    bool; None for void; a Type; str; `Items` for arrays; a dict of values by name for structs;
    `Address` for pointers; `FunctionValue`; `Module`; `DsdValue`; `RangeValue`; `AccessValue`.
    """

    type: t.Type
    value: Any


@dataclass(frozen=True, slots=True)
class Run:
    """A value computed by code: `text` is an operand of LLVM IR.

    For arrays, structs and descriptors it is the address in the simulator's memory, which is not
    written while the value is in use.
    """

    type: t.Type
    text: str


Value: TypeAlias = Const | Run


class Items:
    """The elements of an array, flat in row-major order, as `Const.value` of the element type."""

    __slots__ = ("flat",)

    def __init__(self, flat: list[Any]) -> None:
        self.flat = flat

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Items) and self.flat == other.flat

    __hash__ = None  # type: ignore[assignment]


@dataclass(eq=False, slots=True)
class Global:
    """A variable, or a constant with an address, in the memory of every PE of a class.

    `address` is assigned on first use; `owner` holds a constant's value.
    """

    name: str
    type: t.Type
    initial: Const | None
    at: tree.Position
    alignment: int = 0
    address: int | None = None
    const: bool = False


@dataclass(frozen=True, slots=True)
class Address:
    """A pointer's value: an offset in bytes from the start of a global."""

    base: Global
    offset: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class FunctionValue:
    """A function or task of a module."""

    module: Module
    tree: tree.Function

    @property
    def name(self) -> str:
        return self.tree.name

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, FunctionValue)
            and self.module is other.module
            and self.tree is other.tree
        )

    def __hash__(self) -> int:
        return hash((id(self.module), id(self.tree)))


@dataclass(frozen=True, slots=True)
class RangeValue:
    """The result of `@range`: the loop variable's type and its bounds."""

    type: t.Type
    start: Value
    stop: Value
    step: Value


@dataclass(frozen=True, slots=True)
class AccessValue:
    """A tensor access and the scope in which it was written."""

    tree: tree.Access
    frame: Any


@dataclass(frozen=True, slots=True)
class DsdValue:
    """A constant descriptor: `words` as in memory, `base` the data that it points to."""

    words: tuple[int, ...]
    base: Address | None = None
    element: t.Type | None = None


@dataclass(slots=True)
class Cell:
    """A compile-time variable."""

    type: t.Type | None
    value: Const = field(default=Const(t.VOID, None))


VOID = Const(t.VOID, None)


def integer(value: int) -> Const:
    """An untyped integer constant."""
    return Const(t.COMPTIME_INT, value)


def boolean(value: bool) -> Const:
    """A constant of type bool."""
    return Const(t.BOOL, value)


def type_value(kind: t.Type) -> Const:
    """A type as a value."""
    return Const(t.TYPE, kind)


def struct_value(**fields: Value) -> Const:
    """An anonymous struct."""
    return Const(t.ANONYMOUS, fields)


def key_of(value: Any) -> Any:
    """A hashable key that is equal for equal constants."""
    if isinstance(value, Const):
        return (value.type, key_of(value.value))
    if isinstance(value, dict):
        return tuple((name, key_of(each)) for name, each in value.items())
    if isinstance(value, Items):
        return tuple(map(key_of, value.flat))
    if isinstance(value, float):
        return ("float", value.hex())
    return value

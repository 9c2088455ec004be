# SPDX-License-Identifier: Apache-2.0
"""Values: known while compiling, or computed by code on the PE."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from xtc_targets.wse.csl import tree
from xtc_targets.wse.sema import types as t

if TYPE_CHECKING:
    from xtc_targets.wse.sema.module import Module


@dataclass(frozen=True, slots=True)
class Const:
    """A value that is known while compiling.

    `value` is by type: an int for integers, handles and enums; float; bool; None for void; a Type;
    str; `Items` for arrays; a dict of values by name for structs; `Address` for pointers;
    `FunctionValue`; `Module`; `DsdValue`; `RangeValue`; `AccessValue`.
    """

    type: t.Type
    value: Any


@dataclass(frozen=True, slots=True)
class Run:
    """A value that code computes: `text` is an operand of LLVM IR.

    Of arrays, structs and descriptors it is where they lie in the simulator's memory; nobody
    writes there as long as the value is in use.
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

    `address` is given out when it is first needed; `owner` is whoever has the value of a constant.
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
    """A pointer's value: bytes behind the beginning of a global."""

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
    """What `@range` gives: a loop's variable and its bounds."""

    type: t.Type
    start: Value
    stop: Value
    step: Value


@dataclass(frozen=True, slots=True)
class AccessValue:
    """A tensor access, with the names it was written under."""

    tree: tree.Access
    frame: Any


@dataclass(frozen=True, slots=True)
class DsdValue:
    """A descriptor whose every part is known: `words` as in memory, `base` what it points to."""

    words: tuple[int, ...]
    base: Address | None = None
    element: t.Type | None = None


@dataclass(slots=True)
class Cell:
    """A variable that exists only while compiling."""

    type: t.Type | None
    value: Const = field(default=Const(t.VOID, None))


VOID = Const(t.VOID, None)


def integer(value: int) -> Const:
    """A constant without a size."""
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
    """Something hashable that is equal for equal constants."""
    if isinstance(value, Const):
        return (value.type, key_of(value.value))
    if isinstance(value, dict):
        return tuple((name, key_of(each)) for name, each in value.items())
    if isinstance(value, Items):
        return tuple(map(key_of, value.flat))
    if isinstance(value, float):
        return ("float", value.hex())
    return value

# SPDX-License-Identifier: Apache-2.0
"""The context of evaluation: names in scope, module, and generated code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from xtc_targets.wse.csl import tree
from xtc_targets.wse.csl.errors import CslError, Position
from xtc_targets.wse.sema import types as t
from xtc_targets.wse.sema.code import BasicBlock, Code, llvm_type, memory_type
from xtc_targets.wse.sema.convert import constant_text
from xtc_targets.wse.sema.costs import DESCRIPTOR, LOAD, STORE
from xtc_targets.wse.sema.values import (
    VOID,
    Address,
    Cell,
    Const,
    DsdValue,
    Items,
    Run,
    Value,
)

if TYPE_CHECKING:
    from xtc_targets.wse.sema.module import Module
    from xtc_targets.wse.sema.program import Program


@dataclass(frozen=True, slots=True)
class Slot:
    """A variable of a function outside the PE's memory, at an LLVM IR pointer."""

    type: t.Type
    text: str


@dataclass(frozen=True, slots=True)
class Memory:
    """A variable, or a part of one, in the PE's memory; `address` is constant or an i16."""

    type: t.Type
    address: Address | str
    const: bool = False
    number: bool = False

    @property
    def is_register(self) -> bool:
        """Whether this may be a 16-bit register of the machine."""
        return self.number and isinstance(self.type, t.Int) and self.type.bits == 16


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a compile-time variable, by its path of fields and indices."""

    cell: Cell
    path: tuple[str | int, ...] = ()


Location: TypeAlias = Slot | Memory | Part
Binding: TypeAlias = Const | Run | Slot | Memory | Cell


class Scope:
    """The names of a block and of the enclosing blocks."""

    __slots__ = ("names", "outer")

    def __init__(self, outer: Scope | None = None) -> None:
        self.names: dict[str, Binding] = {}
        self.outer = outer

    def find(self, name: str) -> Binding | None:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.outer
        return None


@dataclass
class Loop:
    """A loop or labeled block whose code is being generated."""

    label: str | None
    end: BasicBlock
    again: BasicBlock | None


@dataclass
class Frame:
    """The context of a function, a block or the top level of a module.

    `code` is None if everything is evaluated at compile time.
    """

    program: Program
    module: Module
    scope: Scope
    code: Code | None = None
    result: t.Type = t.VOID
    result_slot: str = ""
    loops: list[Loop] = field(default_factory=list)
    in_memory: frozenset[str] = frozenset()
    """Variables whose address is taken."""
    wanted: t.Type | None = None
    """The type of a choice between untyped numbers."""

    def running(self, at: Position) -> Code:
        """The generated code. Raises CslError in a compile-time context."""
        if self.code is None:
            raise CslError("this must be known at compile time", where=at)
        return self.code

    @contextmanager
    def block(self) -> Iterator[None]:
        """Open a nested scope."""
        self.scope = Scope(self.scope)
        try:
            yield
        finally:
            assert self.scope.outer is not None  # noqa: S101  the scope created above
            self.scope = self.scope.outer

    @contextmanager
    def comptime(self) -> Iterator[None]:
        """Open a compile-time context."""
        code, self.code = self.code, None
        try:
            yield
        finally:
            self.code = code

    def bind(self, name: str, binding: Binding, at: Position) -> None:
        if name in self.scope.names:
            raise CslError(f"'{name}' is declared twice in this block", where=at)
        if name != "_":
            self.scope.names[name] = binding

    # Locations ------------------------------------------------------------------------------------

    def address_text(self, address: Address | str) -> str:
        """An address as an i16 operand."""
        if isinstance(address, str):
            return address
        return str(self.program.address_of(address) & 0xFFFF)

    def host(self, location: Memory, at: Position) -> str:
        """The simulator's pointer to a location in the PE's memory."""
        code = self.running(at)
        if isinstance(location.address, Address):
            offset = self.program.address_of(location.address) & 0xFFFF
            return code.value(f"getelementptr i8, ptr %base, i64 {offset}")
        wide = code.value(f"zext i16 {location.address} to i64")
        return code.value(f"getelementptr i8, ptr %base, i64 {wide}")

    def load(self, location: Location, at: Position) -> Value:
        if isinstance(location, Part):
            return part_of(location, at)
        if isinstance(location, Memory) and self.code is None:
            raise CslError("a variable's value is not known at compile time", where=at)
        if isinstance(location, Memory) and location.is_register:
            address = f"i16 {self.address_text(location.address)}"
            return Run(location.type, self.running(at).call("i16", "wse_register_read", address))
        pointer = location.text if isinstance(location, Slot) else self.host(location, at)
        kind = location.type
        if kind == t.VOID:
            return VOID
        if t.is_aggregate(kind):
            return Run(kind, pointer)
        return Run(kind, self.loaded(pointer, kind, at, isinstance(location, Memory)))

    def loaded(self, pointer: str, kind: t.Type, at: Position, charged: bool) -> str:
        """Load a scalar from a pointer, as an operand."""
        code = self.running(at)
        stored, used = memory_type(kind), llvm_type(kind)
        text = code.value(f"load {stored}, ptr {pointer}, align 1", LOAD if charged else 0)
        return text if stored == used else code.value(f"trunc {stored} {text} to {used}")

    def store(self, location: Location, value: Value, at: Position) -> None:
        """Store a value of the location's type."""
        if isinstance(location, Part):
            set_part(location, value, at)
            return
        if isinstance(location, Memory) and location.const:
            raise CslError("cannot assign to a constant", where=at)
        if location.type == t.VOID:
            return
        if isinstance(location, Memory) and location.is_register:
            address = f"i16 {self.address_text(location.address)}"
            word = f"i16 {self.operand(value, location.type, at)}"
            self.running(at).call("void", "wse_register_write", address, word)
            return
        pointer = location.text if isinstance(location, Slot) else self.host(location, at)
        self.store_at(pointer, value, location.type, at, isinstance(location, Memory))

    def store_at(
        self, pointer: str, value: Value, kind: t.Type, at: Position, charged: bool = False
    ) -> None:
        code, text = self.running(at), self.operand(value, kind, at)
        if t.is_aggregate(kind):
            words = -(-kind.size // 4)
            code.line(
                f"call void @llvm.memmove.p0.p0.i64(ptr {pointer}, ptr {text}, "
                f"i64 {kind.size}, i1 false)"
            )
            cost = DESCRIPTOR if isinstance(kind, t.Dsd) else words * (LOAD + STORE)
            code.charge(cost if charged else 0)
            return
        stored, used = memory_type(kind), llvm_type(kind)
        if stored != used:
            text = code.value(f"zext {used} {text} to {stored}")
        code.line(f"store {stored} {text}, ptr {pointer}, align 1")
        code.charge(STORE if charged else 0)

    # Operands ----------------------------------------------------------------------------------

    def operand(self, value: Value, kind: t.Type, at: Position) -> str:
        """A value of `kind` as an operand of LLVM IR."""
        if isinstance(value, Run):
            return value.text
        if not t.is_runtime(kind):
            raise CslError(f"a value of type {kind} exists only at compile time", where=at)
        known = value.value
        if isinstance(known, Address):
            return str(self.program.address_of(known) & 0xFFFF)
        if isinstance(known, DsdValue):
            return self.program.constant_dsd(known)
        if isinstance(kind, t.Struct) and any(isinstance(v, Run) for v in known.values()):
            return self._assembled(value, kind, at)
        if t.is_aggregate(kind):
            return self.host(Memory(kind, Address(self.program.constant(value, at))), at)
        return constant_text(known, kind)

    def _assembled(self, value: Const, kind: t.Struct, at: Position) -> str:
        text = self.running(at).slot(f"[{kind.size} x i8]")
        for name, part in value.value.items():
            declared = kind.field_type(name) or t.VOID
            pointer = self.running(at).value(
                f"getelementptr i8, ptr {text}, i64 {kind.offsets[name]}"
            )
            self.store_at(pointer, part, declared, at)
        return text

    def array_of(self, kind: t.Array, items: list[Value]) -> Value:
        """An array of elements that already have the element type."""
        if all(isinstance(item, Const) for item in items):
            flat: list[object] = []
            for item in items:
                inner = item.value if isinstance(item, Const) else None
                flat += inner.flat if isinstance(inner, Items) else [inner]
            return Const(kind, Items(flat))
        at = tree.BUILT_IN
        code = self.running(at)
        text = code.slot(f"[{kind.size} x i8]")
        step = kind.element.size
        for index, item in enumerate(items):
            pointer = code.value(f"getelementptr i8, ptr {text}, i64 {index * step}")
            self.store_at(pointer, item, kind.element, at)
        return Run(kind, text)

    def struct_of(self, kind: t.Struct, parts: Mapping[str, Value]) -> Value:
        """A struct of fields that already have their declared types."""
        return Const(kind, dict(parts))


def part_of(location: Part, at: Position) -> Value:
    """The value of a part of a comptime variable."""
    value: Value = location.cell.value
    for step in location.path:
        value = element_of(value, step, at)
    return value


def element_of(value: Value, step: str | int, at: Position) -> Value:
    """A field or element of a constant. Raises CslError if it does not exist."""
    if isinstance(value, Const) and isinstance(value.value, dict):
        if str(step) in value.value:
            found: Value = value.value[str(step)]
            return found
        names = ", ".join(value.value) or "none"
        raise CslError(f"there is no field '{step}'", where=at, notes=[f"fields: {names}"])
    if isinstance(value, Const) and isinstance(value.type, t.Array) and isinstance(step, int):
        kind = value.type
        if not 0 <= step < kind.shape[0]:
            raise CslError(f"index {step} is out of range for {kind}", where=at)
        if len(kind.shape) == 1:
            return Const(kind.element, value.value.flat[step])
        inner = t.Array(kind.shape[1:], kind.element)
        start = step * inner.count
        return Const(inner, Items(value.value.flat[start : start + inner.count]))
    raise CslError(f"a {value.type} has no parts", where=at)


def set_part(location: Part, value: Value, at: Position) -> None:
    """Assign to a compile-time variable in place."""
    if not isinstance(value, Const):
        raise CslError("the assigned value must be known at compile time", where=at)
    location.cell.value = _with(location.cell.value, location.path, value, at)


def _with(whole: Const, path: tuple[str | int, ...], value: Const, at: Position) -> Const:
    if not path:
        return value
    step, rest = path[0], path[1:]
    inner = element_of(whole, step, at)
    assert isinstance(inner, Const)  # noqa: S101  parts of constants are constants
    changed = _with(inner, rest, value, at)
    if isinstance(whole.value, dict):
        return Const(whole.type, {**whole.value, str(step): changed})
    flat = whole.value.flat  # updated in place: a copy per element would take quadratic time
    if isinstance(changed.value, Items) and isinstance(step, int):
        size = len(changed.value.flat)
        flat[step * size : (step + 1) * size] = changed.value.flat
    else:
        flat[step] = changed.value
    return whole

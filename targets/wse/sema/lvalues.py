# SPDX-License-Identifier: Apache-2.0
"""The locations of expressions: variables, their fields and elements, pointer targets."""

from __future__ import annotations

from typing import TypeAlias

from xtc.core.errors import did_you_mean
from xtc_targets.wse.csl import tree
from xtc_targets.wse.csl.errors import CslError, Position
from xtc_targets.wse.sema import types as t
from xtc_targets.wse.sema.convert import convert
from xtc_targets.wse.sema.costs import ADDRESS
from xtc_targets.wse.sema.frame import Frame, Location, Memory, Part, Slot, element_of
from xtc_targets.wse.sema.module import Module
from xtc_targets.wse.sema.values import Address, Cell, Const, Run, Value, integer

Found: TypeAlias = Location | Value


def location_of(frame: Frame, expr: tree.Expr) -> Found:
    """The location of an expression, or its value if it has none. Raises CslError."""
    if isinstance(expr, tree.Name):
        return _named(frame, expr)
    if isinstance(expr, tree.Member):
        return _member(frame, location_of(frame, expr.base), expr)
    if isinstance(expr, tree.Index):
        found = location_of(frame, expr.base)
        for index in expr.indices:
            found = _indexed(frame, found, frame.program.evaluate(frame, index), expr.at)
        return found
    if isinstance(expr, tree.Deref):
        pointer = value_of(frame, location_of(frame, expr.base), expr.at)
        return pointed(frame, pointer, expr.at)
    return frame.program.evaluate(frame, expr)


def addressed(frame: Frame, expr: tree.Expr) -> Found:
    """The location of the operand of `&`, which may be an element of a constant array."""
    if isinstance(expr, tree.Index):
        array = addressed(frame, expr.base)
        if isinstance(array, Const) and isinstance(array.type, t.Array):
            found: Found = Memory(array.type, Address(frame.program.constant(array, expr.at)), True)
            for index in expr.indices:
                found = _indexed(frame, found, frame.program.evaluate(frame, index), expr.at)
            return found
    return location_of(frame, expr)


def value_of(frame: Frame, found: Found, at: Position) -> Value:
    """The value at a location, or the value itself."""
    return found if isinstance(found, Const | Run) else load(frame, found, at)


def load(frame: Frame, location: Location, at: Position) -> Value:
    """The value at a location; known if it is a constant's."""
    if isinstance(location, Memory) and location.const and isinstance(location.address, Address):
        constant = _constant_at(location.address, location.type)
        if constant is not None:
            return constant
    return frame.load(location, at)


def _constant_at(address: Address, kind: t.Type) -> Const | None:
    initial = address.base.initial
    if not address.base.const or initial is None:
        return None
    if initial.type == kind:
        return initial
    if isinstance(initial.type, t.Array) and initial.type.element == kind:
        return Const(kind, initial.value.flat[address.offset // kind.size])
    return None


def _named(frame: Frame, expr: tree.Name) -> Found:
    binding = frame.scope.find(expr.name)
    if isinstance(binding, Cell):
        return Part(binding)
    if binding is not None:
        return binding
    if frame.module.has(expr.name):
        return frame.module.member(expr.name, expr.at)
    return frame.program.evaluate(frame, expr)


def pointed(frame: Frame, pointer: Value, at: Position) -> Memory:
    """The target of a pointer."""
    kind = pointer.type
    if not isinstance(kind, t.Pointer):
        raise CslError(f"a {kind} is not a pointer", where=at)
    address = pointer.value if isinstance(pointer, Const) else pointer.text
    if not isinstance(address, Address | str):
        address = str(address)  # a pointer made from a number
    const = kind.const or (
        isinstance(address, Address) and address.base.const and kind.element == address.base.type
    )
    number = kind.number or (isinstance(pointer, Const) and not isinstance(pointer.value, Address))
    return Memory(kind.element, address, const, number)


def _member(frame: Frame, base: Found, expr: tree.Member) -> Found:
    name, at = expr.name, expr.at
    if isinstance(base, Const):
        return _member_of_const(frame, base, name, at)
    if isinstance(base, Part):
        return Part(base.cell, (*base.path, name))
    if isinstance(base.type, t.Pointer):
        base = pointed(frame, value_of(frame, base, at), at)
    kind = base.type
    if isinstance(kind, t.Array) and name == "len":
        return integer(kind.shape[0])
    part = kind.field_type(name) if isinstance(kind, t.Struct) else None
    if not isinstance(kind, t.Struct) or part is None:
        known = [each for each, _ in kind.fields] if isinstance(kind, t.Struct) else []
        raise CslError(f"{kind} has no field '{name}'", where=at, hints=did_you_mean(name, known))
    offset = kind.offsets[name]
    if isinstance(base, Memory):
        return _behind(frame, base, offset, part, at)
    pointer = frame.running(at).value(f"getelementptr i8, ptr {base.text}, i64 {offset}")
    if t.is_aggregate(part):
        return Run(part, pointer)
    return Run(part, frame.loaded(pointer, part, at, False))


def _member_of_const(frame: Frame, base: Const, name: str, at: Position) -> Found:
    if isinstance(base.value, Module):
        return base.value.member(name, at)
    if isinstance(base.value, t.Enum):
        members = dict(base.value.members)
        if name not in members:
            raise CslError(
                f"{base.value} has no member '{name}'", where=at, hints=did_you_mean(name, members)
            )
        return Const(base.value, members[name])
    if isinstance(base.type, t.Array) and name == "len":
        return integer(base.type.shape[0])
    if base.type == t.ACCESS:
        base = frame.program.struct_of_access(base.value)
    if isinstance(base.type, t.Pointer):
        location = pointed(frame, base, at)
        return _member(frame, location, tree.Member(tree.VoidLiteral(), name, at=at))
    return element_of(base, name, at)


def _behind(frame: Frame, base: Memory, offset: int, kind: t.Type, at: Position) -> Memory:
    if isinstance(base.address, Address):
        moved = Address(base.address.base, base.address.offset + offset)
        return Memory(kind, moved, base.const)
    if offset == 0:
        return Memory(kind, base.address, base.const)
    text = frame.running(at).value(f"add i16 {base.address}, {offset}")
    return Memory(kind, text, base.const)


def _indexed(frame: Frame, base: Found, index: Value, at: Position) -> Found:
    if isinstance(base, Part):
        return _indexed_part(base, index, at)
    if isinstance(base, Const | Run) and not isinstance(base.type, t.Pointer):
        return _indexed_value(frame, base, index, at)
    if isinstance(base, Slot) or isinstance(base.type, t.Pointer):
        base = pointed(frame, value_of(frame, base, at), at)
        if not isinstance(base.type, t.Array):  # an element of a many-item pointer
            return _element(frame, base, index, base.type, at)
    kind = base.type
    if not isinstance(kind, t.Array) or not isinstance(base, Memory):
        raise CslError(f"a {kind} has no elements", where=at)
    inner = kind.element if len(kind.shape) == 1 else t.Array(kind.shape[1:], kind.element)
    if isinstance(index, Const) and t.is_integer(index.type):
        _check_bounds(index.value, kind, at)
    return _element(frame, base, index, inner, at)


def _check_bounds(index: int, kind: t.Array, at: Position) -> None:
    if not 0 <= index < kind.shape[0]:
        raise CslError(f"index {index} is out of range for {kind}", where=at)


def _element(frame: Frame, base: Memory, index: Value, kind: t.Type, at: Position) -> Memory:
    if not t.is_integer(index.type):
        raise CslError(f"an index is an integer, not a {index.type}", where=at)
    if isinstance(index, Const):
        return _behind(frame, base, index.value * kind.size, kind, at)
    code = frame.running(at)
    narrow = convert(frame, index, t.U16, at)
    offset = frame.operand(narrow, t.U16, at)
    if kind.size != 1:
        offset = code.value(f"mul i16 {offset}, {kind.size}")
    start = frame.address_text(base.address)
    return Memory(kind, code.value(f"add i16 {start}, {offset}", ADDRESS), base.const)


def _indexed_part(base: Part, index: Value, at: Position) -> Found:
    if not isinstance(index, Const):
        raise CslError("the index of a comptime variable must be known", where=at)
    return Part(base.cell, (*base.path, index.value))


def _indexed_value(frame: Frame, base: Value, index: Value, at: Position) -> Found:
    if isinstance(base, Const) and isinstance(index, Const):
        return element_of(base, index.value, at)
    if not isinstance(base.type, t.Array):
        raise CslError(f"a {base.type} has no elements", where=at)
    if isinstance(base, Const):
        placed = frame.program.constant(base, at)
        return _indexed(frame, Memory(base.type, Address(placed), True), index, at)
    address = frame.running(at).stack(base.type.size, base.type.alignment)
    copy = Memory(base.type, address)
    frame.store(copy, base, at)
    return _indexed(frame, copy, index, at)

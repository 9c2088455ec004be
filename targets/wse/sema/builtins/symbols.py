# SPDX-License-Identifier: Apache-2.0
"""Built-in functions that access exported symbols by the host's numbers."""

from __future__ import annotations

from xtc_targets.wse.csl import tree
from xtc_targets.wse.csl.errors import CslError
from xtc_targets.wse.sema import types as t
from xtc_targets.wse.sema.builtins.table import builtin
from xtc_targets.wse.sema.code import llvm_type
from xtc_targets.wse.sema.convert import convert
from xtc_targets.wse.sema.declarations import Export
from xtc_targets.wse.sema.evaluate import evaluate, type_of
from xtc_targets.wse.sema.frame import Frame, Memory
from xtc_targets.wse.sema.lvalues import Found, load, location_of
from xtc_targets.wse.sema.values import Address, Const, FunctionValue, Run, Value, integer


def _exports(frame: Frame, call: tree.Builtin) -> dict[int, Export]:
    """The exports of the tile by symbol number."""
    declarations = frame.program.tile
    if declarations is None:
        raise CslError(f"@{call.name} belongs in a tile's code", where=call.at)
    numbers = {name: number for number, name in enumerate(frame.program.shared.symbols)}
    exports = declarations.exports
    return {numbers[name]: each for name, each in exports.items() if name in numbers}


@builtin("get_symbol_id", 1)
def _get_symbol_id(frame: Frame, call: tree.Builtin) -> Value:
    wanted = location_of(frame, call.args[0])
    for number, export in _exports(frame, call).items():
        if _is(export, wanted):
            return integer(number)
    raise CslError(
        "this symbol is not exported",
        where=call.at,
        hints=["@export_symbol(...) in a comptime block before, @export_name(...) in the layout"],
    )


def _is(export: Export, found: Found) -> bool:
    if isinstance(found, Const) and isinstance(found.value, FunctionValue):
        return export.function == found.value
    address = found.address if isinstance(found, Memory) else getattr(found, "value", None)
    if not isinstance(address, Address):
        return False
    return (address.base, address.offset) in (export.location, export.pointer)


@builtin("get_symbol_value", 2)
def _get_symbol_value(frame: Frame, call: tree.Builtin) -> Value:
    kind = type_of(frame, call.args[0])
    if t.is_aggregate(kind) or not t.is_runtime(kind):
        raise CslError(f"a symbol's value is a number or a pointer, not a {kind}", where=call.at)
    found = {}
    for number, export in _exports(frame, call).items():
        value = _value(frame, export, call.at) if _kind(export) == kind else None
        if value is not None:
            found[number] = value
    return _chosen(frame, call, found, kind, f"no symbol of type {kind} is exported")


@builtin("get_tensor_ptr", 1)
def _get_tensor_ptr(frame: Frame, call: tree.Builtin) -> Value:
    found = {
        number: _value(frame, export, call.at)
        for number, export in _exports(frame, call).items()
        if isinstance(_kind(export), t.Pointer)
    }
    return _chosen(frame, call, found, t.Pointer(t.U16, many=True), "no pointer is exported")


@builtin("has_exported_tensors", 0)
def _has_exported_tensors(frame: Frame, call: tree.Builtin) -> Value:
    frame.running(call.at)
    exports = _exports(frame, call).values()
    return Const(t.BOOL, any(isinstance(_kind(each), t.Pointer) for each in exports))


def _kind(export: Export) -> t.Type | None:
    """The type of a symbol's value; None for a function."""
    if export.function is not None:
        return None
    if export.pointer is not None or export.known:
        return export.type
    assert isinstance(export.type, t.Pointer)  # noqa: S101  to a variable
    return export.type.element


def _value(frame: Frame, export: Export, at: tree.Position) -> Value:
    where = export.pointer or export.location
    assert where is not None  # noqa: S101  functions have no value
    address, kind = Address(*where), _kind(export)
    assert kind is not None  # noqa: S101
    return Const(kind, address) if export.known else load(frame, Memory(kind, address), at)


def _chosen(
    frame: Frame, call: tree.Builtin, found: dict[int, Value], kind: t.Type, none: str
) -> Value:
    """The value whose number is the last argument; arbitrary for an unknown number."""
    code, at = frame.running(call.at), call.at
    if not found:
        raise CslError(none, where=at)
    number = evaluate(frame, call.args[-1])
    if not t.is_integer(number.type):
        raise CslError(f"a symbol's number is an integer, not a {number.type}", where=at)
    asked = frame.operand(convert(frame, number, t.U32, at), t.U32, at)
    used, text = llvm_type(kind), ""
    for symbol, value in found.items():
        operand = frame.operand(value, value.type, at)
        if text:
            same = code.value(f"icmp eq i32 {asked}, {symbol}", 1)
            operand = code.value(f"select i1 {same}, {used} {operand}, {used} {text}", 1)
        text = operand
    return Run(kind, text)

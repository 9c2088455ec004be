# SPDX-License-Identifier: Apache-2.0
"""The values that an operation's body captures, for outlining it into a function."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from xtc.core.errors import CompileError
from xtc.ir.mlir import (
    ArrayAttr,
    Attribute,
    BlockArgument,
    DictAttr,
    FlatSymbolRefAttr,
    MemRefType,
    Operation,
    OpResult,
    UnitAttr,
    Value,
    capturing_operations,
)

# Cheap to clone into the function, where their types and values are then known.
_REPEATED = (
    "arith.constant",
    "memref.cast",
    "memref.collapse_shape",
    "memref.expand_shape",
    "memref.get_global",
    "memref.reinterpret_cast",
    "memref.subview",
    "ub.poison",
)
_ALLOCATIONS = ("memref.alloc", "memref.alloca")
_CONSTANTS = ("memref.get_global",)  # never written, so other readers do not matter
_DYNAMIC = -(2**63)


def captured(body: Operation, *, constants: bool = False) -> list[Value]:
    """The values that a function with this body takes as arguments; it rematerializes the others.

    With `constants`, constants in memory are arguments too. Raises CompileError for a buffer whose
    sizes, strides or offset are dynamic.
    """
    values: list[Value] = []
    passed = _ALLOCATIONS + _CONSTANTS if constants else _ALLOCATIONS
    for _, _, value in _outer_uses(body):
        _add(value, values, passed)
    for value in values:
        _check_passable(value)
    return values


def redirect(body: Operation, values: Sequence[Value], arguments: Sequence[Value]) -> None:
    """Replace the captured values in `body` with arguments; clones at the insertion point."""
    known = dict(zip(values, arguments, strict=True))
    for op, position, value in list(_outer_uses(body)):
        op.operands[position] = _repeated(value, known)


def argument_attributes(
    values: Sequence[Value], alignments: Mapping[str, Attribute] = MappingProxyType({})
) -> list[DictAttr]:
    """The argument attributes of each value: no aliasing, and the alignment of its memory.

    `alignments` maps the symbols of constants in memory to their alignment.
    """
    apart = all(_is_apart(value) for value in values if isinstance(value.type, MemRefType))
    return [DictAttr.get(_attributes(value, apart, alignments)) for value in values]


def _outer_uses(body: Operation) -> Iterator[tuple[Operation, int, Value]]:
    """The inner operations, with the numbers and values of operands defined outside."""
    inside: dict[Value, bool] = {}
    for op in capturing_operations(body)[1:]:
        for position, value in enumerate(op.operands):
            is_inside = inside.get(value)
            if is_inside is None:
                is_inside = inside[value] = _is_inside(value, body)
            if not is_inside:
                yield op, position, value


def _is_inside(value: Value, body: Operation) -> bool:
    op = value.owner if isinstance(value, OpResult) else value.owner.owner
    while op is not None and op != body:
        op = op.parent
    return op is not None


def _add(value: Value, values: list[Value], passed: Sequence[str]) -> None:
    name = value.owner.operation.name if isinstance(value, OpResult) else ""
    if name in _REPEATED and name not in passed:
        for operand in value.owner.operands:
            _add(operand, values, passed)
    elif value not in values:
        values.append(value)


def _repeated(value: Value, known: dict[Value, Value]) -> Value:
    """The inner value that corresponds to `value`; clones its producer on first use."""
    if value not in known:
        operands = [_repeated(operand, known) for operand in value.owner.operands]
        copy = value.owner.clone()
        for position, operand in enumerate(operands):
            copy.operands[position] = operand
        known |= zip(value.owner.results, copy.results, strict=True)
    return known[value]


def _check_passable(value: Value) -> None:
    if not isinstance(value.type, MemRefType):
        return
    type = MemRefType(value.type)
    strides, offset = type.get_strides_and_offset() if type.has_static_shape else ([], _DYNAMIC)
    if _DYNAMIC in (*strides, offset):
        raise CompileError(
            f"a parallel loop uses a {type}, whose sizes, strides or offset are dynamic",
            where=str(value.location),
        )


def _is_apart(value: Value) -> bool:
    """Whether only the value and its views reach its memory."""
    if isinstance(value, OpResult):
        return value.owner.operation.name in _ALLOCATIONS + _CONSTANTS
    return "llvm.noalias" in _given_attributes(BlockArgument(value))


def _found(attributes: DictAttr | dict[str, Attribute], name: str) -> Attribute | None:
    """An attribute, or None; `DictAttr.get` is a constructor, not a lookup."""
    if name not in attributes:
        return None
    return attributes[name]


def _given_attributes(argument: BlockArgument) -> DictAttr | dict[str, Attribute]:
    """The attributes of a function argument; empty for other block arguments."""
    function = argument.owner.owner.operation
    if function.name != "func.func" or "arg_attrs" not in function.attributes:
        return {}
    return DictAttr(ArrayAttr(function.attributes["arg_attrs"])[argument.arg_number])


def _attributes(
    value: Value, apart: bool, alignments: Mapping[str, Attribute]
) -> dict[str, Attribute]:
    if not isinstance(value.type, MemRefType):
        return {}
    attributes: dict[str, Attribute] = {"llvm.noalias": UnitAttr.get()} if apart else {}
    alignment = _alignment(value, alignments)
    if alignment is not None:
        attributes["llvm.align"] = alignment
    return attributes


def _alignment(value: Value, alignments: Mapping[str, Attribute]) -> Attribute | None:
    if isinstance(value, BlockArgument):
        return _found(_given_attributes(value), "llvm.align")
    op = value.owner.operation
    if op.name in _CONSTANTS:
        return alignments.get(FlatSymbolRefAttr(op.attributes["name"]).value)
    return op.attributes.get("alignment", None)

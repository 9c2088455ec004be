# SPDX-License-Identifier: Apache-2.0
"""outline-device-regions: moves consecutive operations of a device into one function."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.attributes import DEVICE, RESULTS
from xtc.ir.builders.functions import call, function
from xtc.ir.mlir import (
    Attribute,
    Block,
    InsertionPoint,
    IntegerAttr,
    IntegerType,
    Operation,
    StringAttr,
    Type,
    Value,
    all_operations,
    func,
)
from xtc.ir.partition import device_of, top_level
from xtc.ir.passes import Pass

_READ_ONLY = "{bufferization.writable = false}"
Use = tuple[Operation, int]
"""An operation and the number of its operand."""

_REMADE = ("arith.constant", "tensor.empty", "linalg.fill")


@dataclass(frozen=True)
class OutlineDeviceRegions(Pass):
    """Move operations that carry `xtc.device` into functions, one per consecutive group.

    Before:
        %0 = linalg.exp {xtc.device = "mppa0"} ins(%a : tensor<4xf32>) outs(...) -> tensor<4xf32>
        %1 = linalg.exp {xtc.device = "mppa0"} ins(%0 : tensor<4xf32>) outs(...) -> tensor<4xf32>
    After:
        %1 = call @f.mppa0.0(%a) {xtc.device = "mppa0"} : (tensor<4xf32>) -> tensor<4xf32>
        func.func private @f.mppa0.0(%arg0: tensor<4xf32>) -> tensor<4xf32>
            attributes {xtc.device = "mppa0", xtc.results = 1} { ... }

    `xtc.results` is the number of results, which bufferization turns into trailing arguments. The
    function must not write to its other arguments.

    Operations are ordered so that each group on a device is as long as their operands allow.
    Constants, empty and filled tensors are recreated where they are used.
    """

    name: ClassVar[str] = "outline-device-regions"

    def run(self, module: Operation) -> None:
        for op in top_level(module):
            if op.name == "func.func" and op.regions[0].blocks:
                _outline(module, op)


def _outline(module: Operation, function: Operation) -> None:
    block = function.regions[0].blocks[0]
    if all(device_of(op.operation) is None for op in block.operations):
        return
    name = StringAttr(function.attributes["sym_name"]).value
    stays = list(_groups_by_device(block))
    _reorder(block, [op for _, operations in stays for op in operations])
    counts: dict[str, int] = {}
    for device, operations in stays:
        if device is not None:
            number = counts.get(device, 0)
            counts[device] = number + 1
            _move_out(module, operations, f"{name}.{device}.{number}", device)


def _groups_by_device(block: Block) -> Iterator[tuple[str | None, list[Operation]]]:
    """Operations in a valid order, in groups by device; None stands for the host."""
    left = [op.operation for op in block.operations if not _is_remade(op.operation)]
    waiting = set(left)
    while left:
        device = device_of(left[0])
        stay = []
        for op in left:
            if device_of(op) == device and waiting.isdisjoint(_producers(op)):
                waiting.discard(op)
                stay.append(op)
        left = [op for op in left if op in waiting]
        yield device, stay


def _reorder(block: Block, order: Sequence[Operation]) -> None:
    """Put operations into this order; the terminator stays last."""
    terminator = block.operations[len(block.operations) - 1].operation
    for op in order:
        if op != terminator:
            op.move_before(terminator)


def _move_out(module: Operation, operations: Sequence[Operation], name: str, device: str) -> None:
    """Move neighboring operations into a function, and call it in their place.

    Uses are collected before anything changes, because an operation's hash depends on its operands.
    """
    ordered = [inner for op in operations for inner in _with_nested(op)]
    inside = set(ordered)
    captured = _captured(ordered, inside)
    inputs = [value for value in captured if not _is_cloned(value)]
    uses_inside = {value: [use for use in _uses(value) if use[0] in inside] for value in captured}
    results = {
        value: outside
        for op in operations
        for value in op.results
        if (outside := [use for use in _uses(value) if use[0] not in inside])
    }
    with module.context, operations[0].location:
        types = [value.type for value in results]
        where = {DEVICE: StringAttr.get(device)}
        created = call(name, inputs, types, where, InsertionPoint(operations[0]))
        body = _new_function(module, name, [value.type for value in inputs], types, where)
        end = func.ReturnOp(list(results), ip=InsertionPoint(body)).operation
    for op in operations:
        op.move_before(end)
    for outside, result in zip(results.values(), created.results, strict=True):
        _use(result, outside)
    arguments = dict(zip(inputs, body.arguments, strict=True))
    for value, inner in uses_inside.items():
        _use(arguments[value] if value in arguments else _copy_of(value, body), inner)


def _new_function(
    module: Operation,
    name: str,
    inputs: Sequence[Type],
    results: Sequence[Type],
    where: Mapping[str, Attribute],
) -> Block:
    """A private function at the head of the module; returns its empty body."""
    attributes = {
        **where,
        "arg_attrs": Attribute.parse(f"[{', '.join([_READ_ONLY] * len(inputs))}]"),
        RESULTS: IntegerAttr.get(IntegerType.get_signless(64), len(results)),
    }
    begin = InsertionPoint.at_block_begin(module.regions[0].blocks[0])
    _, body = function(name, inputs, results, private=True, attributes=attributes, ip=begin)
    return body


def _copy_of(value: Value, body: Block) -> Value:
    """A constant, an empty or a filled tensor, recreated at the start of `body`."""
    copy = value.owner.operation.clone(InsertionPoint.at_block_begin(body))
    for number, operand in enumerate(copy.operands):
        copy.operands[number] = _copy_of(operand, body)
    return copy.results[0]


def _uses(value: Value) -> list[Use]:
    return [(use.owner.operation, use.operand_number) for use in value.uses]


def _use(value: Value, uses_of: Sequence[Use]) -> None:
    for owner, number in uses_of:
        owner.operands[number] = value


def _with_nested(op: Operation) -> list[Operation]:
    return [op, *all_operations(op)] if op.regions else [op]


def _producers(op: Operation) -> set[Operation]:
    """Operations whose results `op` or one nested in it uses."""
    owners = (value.owner for inner in _with_nested(op) for value in inner.operands)
    return {owner.operation for owner in owners if not isinstance(owner, Block)}


def _captured(ordered: Sequence[Operation], inside: set[Operation]) -> list[Value]:
    """Values from outside, in the order of their use, without arguments of nested blocks."""
    found: dict[Value, None] = {}
    for op in ordered:
        for value in op.operands:
            owner = value.owner
            around = owner.owner if isinstance(owner, Block) else owner
            if around.operation not in inside:
                found[value] = None
    return list(found)


def _is_cloned(value: Value) -> bool:
    return not isinstance(value.owner, Block) and _is_remade(value.owner.operation)


def _is_remade(op: Operation) -> bool:
    """Whether `op` is recreated where its result is used: so must be all of its operands."""
    return op.name in _REMADE and all(_is_cloned(value) for value in op.operands)

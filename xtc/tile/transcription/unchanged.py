# SPDX-License-Identifier: Apache-2.0
"""Values that loops and branches pass on unchanged: loops carry every variable in scope."""

from __future__ import annotations

from xtc.ir.mlir import BlockArgument, Operation, OpResult, Value


def origin(value: Value) -> Value:
    """The value that run-time loops and branches have passed on unchanged to this one."""
    while isinstance(value, OpResult):
        before = _ORIGINS.get(value.owner.name, _own)(value.owner, value.result_number)
        if before is None:
            return value
        value = before
    return value


def _own(op: Operation, number: int) -> Value | None:
    return None


def _of_for(op: Operation, number: int) -> Value | None:
    body = op.regions[0].blocks[0]
    same = _hands_on(_end(body).operands[number], body.arguments[number + 1])
    return op.operands[number + 3] if same else None


def _of_while(op: Operation, number: int) -> Value | None:
    before, after = (region.blocks[0] for region in op.regions)
    same = _hands_on(_end(before).operands[number + 1], before.arguments[number])
    same = same and _hands_on(_end(after).operands[number], after.arguments[number])
    return op.operands[number] if same else None


def _of_if(op: Operation, number: int) -> Value | None:
    sides = [origin(_end(region.blocks[0]).operands[number]) for region in op.regions]
    return sides[0] if sides[0] == sides[1] else None


def _hands_on(value: Value, argument: BlockArgument) -> bool:
    return bool(origin(value) == argument)


def _end(block: object) -> Operation:
    operations = block.operations  # type: ignore[attr-defined]
    found: Operation = operations[len(operations) - 1].operation
    return found


_ORIGINS = {"scf.for": _of_for, "scf.while": _of_while, "scf.if": _of_if}

# SPDX-License-Identifier: Apache-2.0
"""Copies of operations of any dialect with other operands, types or attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xtc.ir.mlir import Attribute, InsertionPoint, Operation, Type, Value


def rebuilt(
    op: Operation,
    operands: Sequence[Value],
    types: Sequence[Type],
    attributes: Mapping[str, Attribute] | None = None,
    ip: InsertionPoint | None = None,
) -> Operation:
    """A copy of `op` with other operands and result types.

    It keeps the attributes of `op` unless others are given; its regions are empty.
    """
    kept = {name: op.attributes[name] for name in op.attributes}
    return Operation.create(
        op.name,
        results=list(types),
        operands=list(operands),
        attributes=kept if attributes is None else dict(attributes),
        regions=len(op.regions),
        ip=ip,
    )


def copy_with(op: Operation, values: dict[Value, Value], ip: InsertionPoint) -> Operation:
    """A copy of `op` with the operands of `values` replaced, which receives the results."""
    copy: Operation = op.clone(ip=ip).operation
    for number, operand in enumerate(copy.operands):
        copy.operands[number] = values.get(operand, operand)
    values.update(zip(op.results, copy.results, strict=True))
    return copy


def without_body(op: Operation, *dropped: str) -> Operation:
    """The declaration of a function or a global, without the `dropped` attributes."""
    kept = {name: op.attributes[name] for name in op.attributes if name not in dropped}
    return Operation.create(op.name, attributes=kept, regions=len(op.regions))

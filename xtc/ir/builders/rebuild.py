# SPDX-License-Identifier: Apache-2.0
"""Operations made again with other operands, types or attributes: a copy that no dialect names."""

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
    """An operation like `op` on other operands, with results of these types.

    It has the attributes of `op` unless others are given, and as many regions, which are empty.
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


def bodiless(op: Operation, *dropped: str) -> Operation:
    """A function or a global without its body and without these attributes: a declaration."""
    kept = {name: op.attributes[name] for name in op.attributes if name not in dropped}
    return Operation.create(op.name, attributes=kept, regions=len(op.regions))

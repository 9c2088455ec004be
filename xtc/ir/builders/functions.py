# SPDX-License-Identifier: Apache-2.0
"""Functions and calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xtc.ir.mlir import (
    Attribute,
    Block,
    InsertionPoint,
    Module,
    Operation,
    StringAttr,
    Type,
    Value,
    func,
)


def function(
    name: str,
    inputs: Sequence[Type],
    results: Sequence[Type] = (),
    *,
    private: bool = False,
    attributes: Mapping[str, Attribute] | None = None,
    ip: InsertionPoint | None = None,
) -> tuple[Operation, Block]:
    """A function with these attributes, and its empty entry block."""
    visibility = "private" if private else None
    made = func.FuncOp(name, (list(inputs), list(results)), visibility=visibility, ip=ip)
    for key, value in (attributes or {}).items():
        made.operation.attributes[key] = value
    return made.operation, made.operation.regions[0].blocks.append(*inputs)


def declaration(
    name: str,
    inputs: Sequence[Type],
    results: Sequence[Type] = (),
    *,
    ip: InsertionPoint | None = None,
) -> Operation:
    """A private function without a body, defined in another module."""
    types = (list(inputs), list(results))
    made: Operation = func.FuncOp(name, types, visibility="private", ip=ip).operation
    return made


def declare(module: Operation, text: str) -> None:
    """Insert declarations, given as MLIR text, at the beginning of a module."""
    with InsertionPoint.at_block_begin(module.regions[0].blocks[0]):
        for op in Module.parse(text).body.operations:
            op.operation.clone()


def define(module: Operation, text: str, skip: Sequence[str] = ()) -> None:
    """Append definitions, given as MLIR text, to a module.

    `skip` names symbols that the text only declares and the module defines.
    """
    with module.context, InsertionPoint(module.regions[0].blocks[0]):
        for op in Module.parse(text).body.operations:
            if StringAttr(op.operation.attributes["sym_name"]).value not in skip:
                op.operation.clone()


def call(
    callee: str,
    operands: Sequence[Value],
    results: Sequence[Type] = (),
    attributes: Mapping[str, Attribute] | None = None,
    ip: InsertionPoint | None = None,
) -> Operation:
    """A call of the function `callee`."""
    made: Operation = func.CallOp(list(results), callee, list(operands), ip=ip).operation
    for key, value in (attributes or {}).items():
        made.attributes[key] = value
    return made

# SPDX-License-Identifier: Apache-2.0
"""Makes operations of the llvm dialect, at an insertion point."""

from __future__ import annotations

from collections.abc import Sequence

from xtc.ir.mlir import (
    Attribute,
    FlatSymbolRefAttr,
    InsertionPoint,
    IntegerAttr,
    IntegerType,
    Module,
    Operation,
    Type,
    TypeAttr,
    Value,
)


def declare(module: Operation, text: str) -> None:
    """Add these declarations to the beginning of the module."""
    with InsertionPoint.at_block_begin(module.regions[0].blocks[0]):
        for op in Module.parse(text).body.operations:
            op.operation.clone()


def call(
    name: str, operands: Sequence[Value], results: Sequence[Type], ip: InsertionPoint
) -> Operation:
    """A call of the function of this name."""
    attributes = {
        "callee": FlatSymbolRefAttr.get(name),
        "operandSegmentSizes": Attribute.parse(f"array<i32: {len(operands)}, 0>"),
        "op_bundle_sizes": Attribute.parse("array<i32>"),
    }
    return Operation.create("llvm.call", results, operands, attributes, ip=ip)


def constant(number: int, ip: InsertionPoint) -> Value:
    """A constant of type i32."""
    i32 = IntegerType.get_signless(32)
    attributes = {"value": IntegerAttr.get(i32, number)}
    return Operation.create("llvm.mlir.constant", [i32], attributes=attributes, ip=ip).results[0]


def plain_address(pointer: Value, ip: InsertionPoint) -> Value:
    """The same address as a pointer without memory space."""
    plain = Type.parse("!llvm.ptr")
    return Operation.create("llvm.addrspacecast", [plain], [pointer], ip=ip).results[0]


def moved(base: Value, nbytes: int, ip: InsertionPoint) -> Value:
    """The address `nbytes` after `base`."""
    if nbytes == 0:
        return base
    attributes = {
        "rawConstantIndices": Attribute.parse(f"array<i32: {nbytes}>"),
        "elem_type": TypeAttr.get(IntegerType.get_signless(8)),
    }
    return Operation.create("llvm.getelementptr", [base.type], [base], attributes, ip=ip).results[0]

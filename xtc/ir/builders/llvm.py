# SPDX-License-Identifier: Apache-2.0
"""Operations of the llvm dialect: constants, calls and addresses."""

from __future__ import annotations

from collections.abc import Sequence

from xtc.core.errors import CompileError
from xtc.ir.mlir import (
    FlatSymbolRefAttr,
    FloatType,
    InsertionPoint,
    IntegerAttr,
    IntegerType,
    Operation,
    Type,
    Value,
    VectorType,
)
from xtc.ir.mlir_llvm import llvm

_DYNAMIC = -(1 << 31)  # marks a dynamic index of llvm.getelementptr


def constant(number: int, ip: InsertionPoint | None = None) -> Value:
    """A constant of type i32."""
    return llvm.mlir_constant(IntegerAttr.get(IntegerType.get_signless(32), number), ip=ip)


def call(
    callee: str,
    operands: Sequence[Value],
    results: Sequence[Type] = (),
    ip: InsertionPoint | None = None,
) -> Operation:
    """A call of the function `callee`, which has at most one result."""
    result = results[0] if results else None
    symbol = FlatSymbolRefAttr.get(callee)
    made: Operation = llvm.CallOp(result, list(operands), [], [], callee=symbol, ip=ip).operation
    return made


def plain_address(pointer: Value, ip: InsertionPoint | None = None) -> Value:
    """The same address as a pointer in the default address space."""
    return llvm.addrspacecast(Type.parse("!llvm.ptr"), pointer, ip=ip)


def advanced(base: Value, nbytes: Value | int, ip: InsertionPoint | None = None) -> Value:
    """The address `base + nbytes`."""
    if isinstance(nbytes, int) and nbytes == 0:
        return base
    known = isinstance(nbytes, int)
    dynamic, static = ([], [nbytes]) if known else ([nbytes], [_DYNAMIC])
    i8 = IntegerType.get_signless(8)
    return llvm.getelementptr(base.type, base, dynamic, static, i8, 0, ip=ip)


def stored_bytes(type: Type) -> int:
    """The size of a value in memory, in bytes. Raises CompileError for a type without a size."""
    if isinstance(type, VectorType):
        count = 1
        for size in type.shape:
            count *= size
        return count * stored_bytes(type.element_type)
    if isinstance(type, IntegerType | FloatType):
        return max(1, int(type.width) // 8)
    raise CompileError(f"a value of type {type} cannot be loaded from or stored to device memory")

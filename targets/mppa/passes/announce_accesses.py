# SPDX-License-Identifier: Apache-2.0
"""announce-accesses: lets device code report its loads and stores to the simulator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.core.errors import CompileError
from xtc.ir.builders.functions import declare
from xtc.ir.builders.llvm import call, constant, stored_bytes
from xtc.ir.mlir import (
    Block,
    InsertionPoint,
    IntegerAttr,
    Operation,
    Value,
    all_operations,
)
from xtc.ir.mlir_llvm import llvm
from xtc.ir.partition import top_level
from xtc.ir.passes import Pass
from xtc_targets.mppa.passes._device_calls import ACCESS, SMEM, i64

_DECLARATION = f"llvm.func @{ACCESS}(!llvm.ptr, !llvm.ptr, i64, i32)"
_POINTER = "!llvm.ptr"
_ADDRESSES = (
    "llvm.getelementptr",
    "llvm.ptrtoint",
    "llvm.insertvalue",
    "llvm.icmp",
    "llvm.select",
    "llvm.call",
    "llvm.br",
    "llvm.cond_br",
    "llvm.intr.assume",
)
_TRANSFERS = ("llvm.intr.memcpy", "llvm.intr.memmove", "llvm.intr.memset")


@dataclass(frozen=True)
class AnnounceAccesses(Pass):
    """Call `dev_access` of `csrc/dev.h` before each load and store, except those of the stack.

    Before:
        %p = llvm.getelementptr %a[%i] ; %v = llvm.load %p : !llvm.ptr -> f32
    After:
        llvm.call @dev_access(%a, %p, 4, 0) ; %v = llvm.load %p : !llvm.ptr -> f32

    The first argument is the base of the address: a buffer in DDR or SMEM.
    """

    name: ClassVar[str] = "announce-accesses"

    def run(self, module: Operation) -> None:
        functions = [op for op in top_level(module) if op.name == "llvm.func"]
        operations = [op for function in functions for op in all_operations(function)]
        with module.context:
            declare(module, _DECLARATION)
            for op in operations:
                with op.location:
                    for number, pointer in enumerate(op.operands):
                        if str(pointer.type) == _POINTER and op.name not in _ADDRESSES:
                            _announce(op, number, pointer)


def _announce(op: Operation, number: int, pointer: Value) -> None:
    base, ip = _base(pointer), InsertionPoint(op)
    if _defined_by(base, "llvm.alloca"):
        return
    nbytes = _accessed_bytes(op, number, ip)
    writes = op.name == "llvm.store" or (op.name in _TRANSFERS and number == 0)
    call(ACCESS, [base, pointer, nbytes, constant(int(writes), ip)], [], ip)


def _accessed_bytes(op: Operation, number: int, ip: InsertionPoint) -> Value:
    if op.name in _TRANSFERS:
        return op.operands[2]
    if op.name == "llvm.load":
        type = op.results[0].type
    elif op.name == "llvm.store" and number == 1:
        type = op.operands[0].type
    else:
        raise CompileError(
            f"{op.name} accesses memory in a way that cannot be checked", where=str(op.location)
        )
    return llvm.mlir_constant(IntegerAttr.get(i64(), stored_bytes(type)), ip=ip)


def _base(pointer: Value) -> Value:
    """The base of a pointer; inside SMEM, the buffer that contains it."""
    while _defined_by(pointer, "llvm.getelementptr"):
        source = pointer.owner.operation.operands[0]
        if _defined_by(source, "llvm.call") and _callee(source) == SMEM:
            return pointer
        pointer = source
    return pointer


def _defined_by(value: Value, name: str) -> bool:
    return not isinstance(value.owner, Block) and value.owner.operation.name == name


def _callee(value: Value) -> str:
    return str(value.owner.operation.attributes["callee"].value)

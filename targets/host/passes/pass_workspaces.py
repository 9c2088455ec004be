# SPDX-License-Identifier: Apache-2.0
"""pass-workspaces: turns the temporary buffers of kernels into arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.attributes import NODE
from xtc.ir.builders.rebuild import rebuilt
from xtc.ir.mlir import (
    ArrayAttr,
    DictAttr,
    FlatSymbolRefAttr,
    FunctionType,
    InsertionPoint,
    Operation,
    TypeAttr,
    UnitAttr,
    all_operations,
)
from xtc.ir.partition import symbol_of
from xtc.ir.passes import Pass


@dataclass(frozen=True)
class PassWorkspaces(Pass):
    """Let the callers of kernels allocate their temporary buffers.

    Before:
        call @net.kernel.a(%x) {xtc.node = "a"}
        func.func private @net.kernel.a(%x) { %b = memref.alloc() : memref<8xf32> ... }
    After:
        %b = memref.alloc() : memref<8xf32>
        call @net.kernel.a(%x, %b) {xtc.node = "a"}
        func.func private @net.kernel.a(%x, %b) { ... }

    The caller then owns all buffers of the network, and can let them share memory. Allocations in a
    loop, or by a thread, stay.
    """

    name: ClassVar[str] = "pass-workspaces"

    def run(self, module: Operation) -> None:
        calls: dict[str, list[Operation]] = {}
        for op in all_operations(module):
            if op.name == "func.call" and NODE in op.attributes:
                calls.setdefault(FlatSymbolRefAttr(op.attributes["callee"]).value, []).append(op)
        with module.context:
            for op in [op.operation for op in module.regions[0].blocks[0].operations]:
                if op.name == "func.func" and symbol_of(op) in calls:
                    _pass(op, calls[symbol_of(op)])


def _pass(kernel: Operation, calls: Sequence[Operation]) -> None:
    """Turn the top-level allocations of a kernel into arguments of it and of its calls."""
    block = kernel.regions[0].blocks[0]
    allocs = [
        op.operation
        for op in block.operations
        if op.operation.name == "memref.alloc" and not len(op.operation.operands)
    ]
    if not allocs:
        return
    for call in calls:
        with call.location, InsertionPoint(call):
            buffers = [alloc.clone().results[0] for alloc in allocs]
            rebuilt(call, [*call.operands, *buffers], [])
        call.erase()
    given = list(kernel.attributes["arg_attrs"])
    for alloc in allocs:
        argument = block.add_argument(alloc.results[0].type, alloc.location)
        given.append(_described(alloc))
        alloc.results[0].replace_all_uses_with(argument)
        alloc.erase()
    types = [argument.type for argument in block.arguments]
    kernel.attributes["function_type"] = TypeAttr.get(FunctionType.get(types, []))
    kernel.attributes["arg_attrs"] = ArrayAttr.get(given)


def _described(alloc: Operation) -> DictAttr:
    attributes = {"llvm.noalias": UnitAttr.get()}
    if "alignment" in alloc.attributes:
        attributes["llvm.align"] = alloc.attributes["alignment"]
    return DictAttr.get(attributes)

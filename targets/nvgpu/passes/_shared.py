# SPDX-License-Identifier: Apache-2.0
"""A kernel's shared memory, where it asks for it as plain bytes."""

from __future__ import annotations

from xtc.ir.mlir import (
    FlatSymbolRefAttr,
    InsertionPoint,
    IntegerAttr,
    IntegerType,
    Module,
    Operation,
    Type,
    Value,
)
from xtc.ir.partition import symbol_of, top_level
from xtc_targets.nvgpu.passes._kernels import SHARED, SHARED_BYTES, SHARED_SYMBOL
from xtc_targets.nvgpu.passes._thread_code import Code

_TYPE = f"memref<0xi8, {SHARED}>"
_ALIGNMENT = 1024


def shared_memory(kernel: Operation, nbytes: int, code: Code) -> Value:
    """The address of so many bytes of shared memory, all that the kernel has; aligned to 1024.

    The array has no size of its own: the launch says it, as a kernel alone can declare 48 KiB.
    """
    declare_shared(kernel.parent)
    kernel.attributes[SHARED_BYTES] = IntegerAttr.get(IntegerType.get_signless(64), nbytes)
    name = {"name": FlatSymbolRefAttr.get(SHARED_SYMBOL)}
    return code.address(code.value("memref.get_global", Type.parse(_TYPE), (), name), SHARED)


def declare_shared(module: Operation) -> None:
    """Let the module have the array that is every kernel's shared memory."""
    if not any(_declares(op) for op in top_level(module)):
        text = f"memref.global @{SHARED_SYMBOL} : {_TYPE} {{alignment = {_ALIGNMENT} : i64}}"
        with InsertionPoint.at_block_begin(module.regions[0].blocks[0]):
            for op in Module.parse(text).body.operations:
                op.operation.clone()


def _declares(op: Operation) -> bool:
    return op.name == "memref.global" and symbol_of(op) == SHARED_SYMBOL

# SPDX-License-Identifier: Apache-2.0
"""The shared memory of a kernel as an array of bytes."""

from __future__ import annotations

from xtc.ir.builders.functions import declare
from xtc.ir.mlir import IntegerAttr, IntegerType, Operation, Type, Value, memref
from xtc.ir.partition import symbol_of, top_level
from xtc_targets.nvgpu.passes._kernels import SHARED, SHARED_BYTES, SHARED_SYMBOL
from xtc_targets.nvgpu.passes._thread_code import address_of

_TYPE = f"memref<0xi8, {SHARED}>"
_ALIGNMENT = 1024


def shared_memory(kernel: Operation, nbytes: int) -> Value:
    """The address of a kernel's shared memory of `nbytes` bytes, aligned to 1024.

    The launch sets the size of the array, since a kernel can declare at most 48 KiB.
    """
    declare_shared(kernel.parent)
    kernel.attributes[SHARED_BYTES] = IntegerAttr.get(IntegerType.get_signless(64), nbytes)
    return address_of(memref.get_global(Type.parse(_TYPE), SHARED_SYMBOL), SHARED)


def declare_shared(module: Operation) -> None:
    """Declare the array for the shared memory of all kernels, unless it is declared."""
    if not any(_declares(op) for op in top_level(module)):
        text = f"memref.global @{SHARED_SYMBOL} : {_TYPE} {{alignment = {_ALIGNMENT} : i64}}"
        declare(module, text)


def _declares(op: Operation) -> bool:
    return op.name == "memref.global" and symbol_of(op) == SHARED_SYMBOL

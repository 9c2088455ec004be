# SPDX-License-Identifier: Apache-2.0
"""Finds kernels whose results do not depend on the order of their blocks."""

from __future__ import annotations

from xtc.ir.mlir import IntegerAttr, Operation, all_operations
from xtc.ir.partition import top_level
from xtc_targets.nvgpu.passes._kernels import GRID, SHARED

_COMBINING = ("llvm.atomicrmw", "llvm.cmpxchg")
_WAITS = ("nvvm.nanosleep", "nvvm.cluster.wait")
_SHARED_POINTER = f"!llvm.ptr<{SHARED}>"


def has_independent_blocks(module: Operation, kernel: Operation) -> bool:
    """Whether no block of a kernel in the llvm dialect waits for another or observes its progress.

    Blocks that neither wait nor have atomic accesses to global memory cannot exchange values
    without a race. A float sum of atomic additions depends on the order of the blocks.
    """
    functions = [op for op in top_level(module) if op.name == "llvm.func"]
    called = [op for op in functions if GRID not in op.attributes]
    return not any(
        _orders_blocks(op) for function in (kernel, *called) for op in all_operations(function)
    )


def _orders_blocks(op: Operation) -> bool:
    if op.name in _WAITS:
        return True
    if op.name in ("llvm.load", "llvm.store"):
        if "ordering" not in op.attributes or not IntegerAttr(op.attributes["ordering"]).value:
            return False
    elif op.name not in _COMBINING:
        return False
    pointer = op.operands[1 if op.name == "llvm.store" else 0]
    return str(pointer.type) != _SHARED_POINTER

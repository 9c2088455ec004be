# SPDX-License-Identifier: Apache-2.0
"""Memrefs as views of buffers: which buffer a view belongs to, and which share no memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xtc.ir.mlir import Value

VIEWS = (
    "memref.subview",
    "memref.reinterpret_cast",
    "memref.collapse_shape",
    "memref.expand_shape",
    "memref.cast",
    "memref.memory_space_cast",
    "memref.transpose",
)


def root(memref: Value) -> Value:
    """The buffer that a view, or a view of a view, looks at; a buffer itself."""
    from xtc.ir.mlir import OpResult

    while isinstance(memref, OpResult) and memref.owner.name in VIEWS:
        memref = memref.owner.operands[0]
    return memref


def shares_nothing(buffer: Value) -> bool:
    """Whether a buffer is new, or an argument that is known to overlap no other memory."""
    from xtc.ir.mlir import BlockArgument

    if not isinstance(buffer, BlockArgument):
        return buffer.owner.name in ("memref.alloc", "memref.alloca")
    function = buffer.owner.owner.operation
    if function.name != "func.func" or "arg_attrs" not in function.attributes:
        return False
    return "llvm.noalias" in function.attributes["arg_attrs"][buffer.arg_number]

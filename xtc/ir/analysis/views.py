# SPDX-License-Identifier: Apache-2.0
"""Memrefs as views of buffers: which buffer a view belongs to, and which share no memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xtc.ir.mlir import Operation, Value

RESHAPES = ("memref.collapse_shape", "memref.expand_shape", "memref.cast")
VIEWS = (
    *RESHAPES,
    "memref.subview",
    "memref.reinterpret_cast",
    "memref.memory_space_cast",
    "memref.transpose",
)


def root(memref: Value) -> Value:
    """The buffer that a view, or a view of a view, looks at; a buffer itself."""
    from xtc.ir.mlir import OpResult

    while isinstance(memref, OpResult) and memref.owner.name in VIEWS:
        memref = memref.owner.operands[0]
    return memref


def is_reshape(op: Operation) -> bool:
    """Whether `op` looks at all of a dense buffer, in another shape."""
    from xtc.ir.mlir import AffineMap

    return op.name in RESHAPES and all(
        value.type.affine_map == AffineMap.get_identity(value.type.rank, context=op.context)
        for value in (op.operands[0], op.results[0])
    )


def shares_nothing(buffer: Value) -> bool:
    """Whether a buffer is new, or an argument that is known to overlap no other memory."""
    from xtc.ir.mlir import BlockArgument

    if not isinstance(buffer, BlockArgument):
        return buffer.owner.name in ("memref.alloc", "memref.alloca")
    function = buffer.owner.owner.operation
    if function.name != "func.func" or "arg_attrs" not in function.attributes:
        return False
    return "llvm.noalias" in function.attributes["arg_attrs"][buffer.arg_number]

# SPDX-License-Identifier: Apache-2.0
"""Memrefs as views of buffers: which buffer a view belongs to, and which share no memory."""

from __future__ import annotations

from collections.abc import Sequence
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


def are_apart(memref: Value, other: Value) -> bool:
    """Whether two memrefs certainly have no element in common, such as two columns of a matrix.

    Of one buffer, they are subviews with ranges of a dimension that do not meet.
    """
    if root(memref) != root(other):
        return shares_nothing(root(memref)) and shares_nothing(root(other))
    if not (memref.type.has_static_shape and other.type.has_static_shape):
        return False
    return _do_not_meet(_ranges(memref), _ranges(other))


Box = tuple["Value", list[tuple[int, int]]]
"""A memref, and the first and last index of each of its dimensions that a view of it has."""


def boxes_of(memref: Value) -> list[Box]:
    """Where a view is in what it is a view of, and where that is; those of known sizes."""
    from xtc.ir.mlir import OpResult

    boxes = []
    while True:
        base = memref
        if memref.type.has_static_shape:
            boxes.append(_ranges(memref))
            base = boxes[-1][0]
        if not isinstance(base, OpResult) or base.owner.name not in VIEWS:
            return boxes
        memref = base.owner.operands[0]


def are_boxes_apart(boxes: Sequence[Box], others: Sequence[Box]) -> bool:
    """Whether two views, or what they are views of, certainly have no element in common."""
    return any(_do_not_meet(box, other) for box in boxes for other in others)


def _do_not_meet(box: Box, other: Box) -> bool:
    return box[0] == other[0] and any(
        last < begin or end < first
        for (first, last), (begin, end) in zip(box[1], other[1], strict=True)
    )


def _ranges(memref: Value) -> Box:
    """What static subviews look at, and the first and last index of each of its dimensions."""
    ranges = [(0, size - 1) for size in memref.type.shape]
    while (parts := _static_parts(memref)) is not None:
        memref, offsets, steps = parts
        ranges = [
            (offset + first * step, offset + last * step)
            for (first, last), offset, step in zip(ranges, offsets, steps, strict=True)
        ]
    return memref, ranges


def _static_parts(memref: Value) -> tuple[Value, list[int], list[int]] | None:
    """The source, offsets and steps of a subview of the same rank whose numbers are constants."""
    from xtc.ir.mlir import DenseI64ArrayAttr, OpResult

    if not isinstance(memref, OpResult) or memref.owner.name != "memref.subview":
        return None
    op = memref.owner
    if len(op.operands) > 1 or op.operands[0].type.rank != memref.type.rank:
        return None
    offsets, steps = (list(DenseI64ArrayAttr(op.attributes[f"static_{name}"])) for name in _PARTS)
    return op.operands[0], offsets, steps


_PARTS = ("offsets", "strides")


def shares_nothing(buffer: Value) -> bool:
    """Whether a buffer is new, or an argument that is known to overlap no other memory."""
    from xtc.ir.mlir import BlockArgument

    if not isinstance(buffer, BlockArgument):
        return buffer.owner.name in ("memref.alloc", "memref.alloca")
    function = buffer.owner.owner.operation
    if function.name != "func.func" or "arg_attrs" not in function.attributes:
        return False
    return "llvm.noalias" in function.attributes["arg_attrs"][buffer.arg_number]


def dropped_dimensions(sizes: Sequence[int], shape: Sequence[int]) -> set[int]:
    """The dimensions of size 1 that a view of `sizes` loses where it has this shape."""
    left, dropped = list(shape), set()
    for dim, size in enumerate(sizes):
        surplus = len(sizes) - dim - len(left)
        if left and left[0] == size and not (size == 1 and surplus > 0):
            left.pop(0)
        else:
            dropped.add(dim)
    return dropped

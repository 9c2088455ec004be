# SPDX-License-Identifier: Apache-2.0
"""Memrefs as views of buffers: the underlying buffer of a view, and views that do not overlap."""

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
    """The underlying buffer of a view or of nested views; a buffer itself."""
    from xtc.ir.mlir import OpResult

    while isinstance(memref, OpResult) and memref.owner.name in VIEWS:
        memref = memref.owner.operands[0]
    return memref


def is_reshape(op: Operation) -> bool:
    """Whether `op` is a view of a whole dense buffer in another shape."""
    from xtc.ir.mlir import AffineMap

    return op.name in RESHAPES and all(
        value.type.affine_map == AffineMap.get_identity(value.type.rank, context=op.context)
        for value in (op.operands[0], op.results[0])
    )


def are_apart(memref: Value, other: Value) -> bool:
    """Whether two memrefs are known not to overlap, such as two columns of a matrix.

    Two subviews of one buffer do not overlap if their ranges of one dimension are disjoint.
    """
    if root(memref) != root(other):
        return shares_nothing(root(memref)) and shares_nothing(root(other))
    if not (memref.type.has_static_shape and other.type.has_static_shape):
        return False
    return _do_not_meet(_ranges(memref), _ranges(other))


Box = tuple["Value", list[tuple[int, int]]]
"""A memref, and the first and last index of each dimension that a view covers."""


def boxes_of(memref: Value) -> list[Box]:
    """The boxes of a view and of its sources, each in its own source; only for static sizes."""
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
    """Whether two views, or their sources, are known not to overlap."""
    return any(_do_not_meet(box, other) for box in boxes for other in others)


def _do_not_meet(box: Box, other: Box) -> bool:
    return box[0] == other[0] and any(
        last < begin or end < first
        for (first, last), (begin, end) in zip(box[1], other[1], strict=True)
    )


def _ranges(memref: Value) -> Box:
    """The source of static subviews, and the first and last index that they cover."""
    ranges = [(0, size - 1) for size in memref.type.shape]
    while (parts := _static_parts(memref)) is not None:
        memref, offsets, steps = parts
        ranges = [
            (offset + first * step, offset + last * step)
            for (first, last), offset, step in zip(ranges, offsets, steps, strict=True)
        ]
    return memref, ranges


def _static_parts(memref: Value) -> tuple[Value, list[int], list[int]] | None:
    """The source, offsets and steps of a static subview that keeps the rank, or None."""
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
    """Whether a buffer is an allocation, or an argument known not to alias other memory."""
    from xtc.ir.mlir import BlockArgument

    if not isinstance(buffer, BlockArgument):
        return buffer.owner.name in ("memref.alloc", "memref.alloca")
    function = buffer.owner.owner.operation
    if function.name != "func.func" or "arg_attrs" not in function.attributes:
        return False
    return "llvm.noalias" in function.attributes["arg_attrs"][buffer.arg_number]


def dropped_dimensions(sizes: Sequence[int], shape: Sequence[int]) -> set[int]:
    """The dimensions of size 1 that a view with `sizes` drops to have this shape."""
    left, dropped = list(shape), set()
    for dim, size in enumerate(sizes):
        surplus = len(sizes) - dim - len(left)
        if left and left[0] == size and not (size == 1 and surplus > 0):
            left.pop(0)
        else:
            dropped.add(dim)
    return dropped

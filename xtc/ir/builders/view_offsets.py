# SPDX-License-Identifier: Apache-2.0
"""The offsets of views of buffers, in elements."""

from __future__ import annotations

from xtc.core.errors import CompileError
from xtc.ir.analysis.views import RESHAPES
from xtc.ir.builders.numbers import Number, linear_offset
from xtc.ir.mlir import DenseI64ArrayAttr, InsertionPoint, MemRefType, OpResult, ShapedType, Value

_DYNAMIC = ShapedType.get_dynamic_size()
_OFFSETS = "static_offsets"
_SAME_START = (*RESHAPES, "memref.transpose", "memref.memory_space_cast")


def view_offset(view: Value, ip: InsertionPoint | None = None) -> tuple[Value, Number]:
    """The underlying buffer of a view, and the offset of the view's first element in it.

    Raises CompileError for a view whose offset is not a sum of its subviews' offsets.
    """
    buffer, offset = view, [(0, 1)]  # type: tuple[Value, list[tuple[Number, int]]]
    while isinstance(buffer, OpResult) and buffer.owner.name.startswith("memref."):
        owner = buffer.owner
        if owner.name == "memref.subview":
            buffer = owner.operands[0]
            strides, _ = MemRefType(buffer.type).get_strides_and_offset()
            offset += list(zip(_starts(owner, 1), strides, strict=True))
        elif owner.name in _SAME_START:
            buffer = owner.operands[0]
        else:
            break
    _, start = MemRefType(buffer.type).get_strides_and_offset()
    if start == _DYNAMIC or any(stride < 0 for _, stride in offset):
        raise CompileError(f"the offset of a view of type {view.type} is not known")
    return buffer, linear_offset([*offset, (start, 1)], ip)


def _starts(op: object, first: int) -> list[Number]:
    """The offsets of a subview, whose operands from `first` are the dynamic ones."""
    values = iter(list(op.operands)[first:])  # type: ignore[attr-defined]
    statics = DenseI64ArrayAttr(op.attributes[_OFFSETS])  # type: ignore[attr-defined]
    return [next(values) if start < 0 else start for start in statics]

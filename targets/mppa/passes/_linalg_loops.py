# SPDX-License-Identifier: Apache-2.0
"""Linalg operations on buffers of any shape: their loops and bodies."""

from __future__ import annotations

from dataclasses import dataclass

from xtc.ir.analysis.contractions import multiply_add
from xtc.ir.analysis.indices import Index, index_of
from xtc.ir.analysis.structured import body_operations
from xtc.ir.builders.slices import Offset
from xtc.ir.mlir import MemRefType, Operation, Value, get_indexing_maps
from xtc_passes.local import _view_layouts as layouts

_NOT_COUNTED = ("linalg.yield", "linalg.index", "arith.constant")


@dataclass(frozen=True)
class LinalgLoops:
    """A linalg operation, with the index of each dimension of each operand."""

    op: Operation
    indices: tuple[tuple[Index, ...], ...]
    loops: int

    @property
    def arithmetic(self) -> list[Operation]:
        """The arithmetic operations of the body."""
        return [
            body_operation
            for body_operation in body_operations(self.op)
            if body_operation.name not in _NOT_COUNTED
        ]

    def extents(self) -> list[Offset] | None:
        """Iterations of each loop, computed at the insertion point; None if unknown."""
        found: dict[int, Offset] = {}
        for operand, row in zip(self.op.operands, self.indices, strict=True):
            for position, index in enumerate(row):
                if index.loop is not None and index.loop not in found:
                    found[index.loop] = layouts.size(operand, position)
        return [found[loop] for loop in range(self.loops)] if len(found) == self.loops else None

    @property
    def is_multiply_add(self) -> bool:
        """Whether the body is `c + a * b` on elements of three operands."""
        return len(self.op.operands) == 3 and multiply_add(self.op) is not None


def linalg_loops(op: Operation) -> LinalgLoops | None:
    """The loops of a linalg operation on buffers; None for other operations."""
    if not op.name.startswith("linalg.") or not op.operands:
        return None
    maps = get_indexing_maps(op)
    if maps is None or len(maps) != len(op.operands):
        return None
    rows = [tuple(map(index_of, index_map.value.results)) for index_map in maps]
    if any(index is None for row in rows for index in row):
        return None
    return LinalgLoops(op, tuple(rows), maps[0].value.n_dims)  # type: ignore[arg-type]


def element(value: Value) -> str:
    """The type of a buffer's elements, or of a scalar, as MLIR writes it."""
    type = value.type
    return str(type.element_type if isinstance(type, MemRefType) else type)

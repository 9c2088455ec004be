# SPDX-License-Identifier: Apache-2.0
"""Linalg operations on buffers of any shape: their loops, and what their bodies compute."""

from __future__ import annotations

from dataclasses import dataclass

from xtc.ir.analysis.indices import Index, index_of
from xtc.ir.analysis.structured import body_operations
from xtc.ir.builders.tensors import Offset
from xtc.ir.mlir import MemRefType, Operation, Value, get_indexing_maps
from xtc_passes.local import _layouts as layouts

_NOT_COUNTED = ("linalg.yield", "linalg.index", "arith.constant")
_CASTS = ("arith.extf", "arith.extsi", "arith.extui")


@dataclass(frozen=True)
class Nest:
    """A linalg operation; for each operand the index of each of its dimensions."""

    op: Operation
    indices: tuple[tuple[Index, ...], ...]
    loops: int

    @property
    def arithmetic(self) -> list[Operation]:
        """What the body computes for one iteration."""
        return [
            body_operation
            for body_operation in body_operations(self.op)
            if body_operation.name not in _NOT_COUNTED
        ]

    def extents(self) -> list[Offset] | None:
        """Iterations of each loop, computed at the insertion point; None where not to be told."""
        found: dict[int, Offset] = {}
        for operand, row in zip(self.op.operands, self.indices, strict=True):
            for position, index in enumerate(row):
                if index.loop is not None and index.loop not in found:
                    found[index.loop] = layouts.size(operand, position)
        return [found[loop] for loop in range(self.loops)] if len(found) == self.loops else None

    @property
    def contracted(self) -> tuple[int, int] | None:
        """The operands of a contraction onto the last operand; None for other operations."""
        if len(self.op.operands) != 3:
            return None
        *ops, end = body_operations(self.op)
        ops = [op for op in ops if op.name not in _CASTS]
        if [op.name[:-1] for op in ops] != ["arith.mul", "arith.add"]:
            return None
        product, total = ops
        block = self.op.regions[0].blocks[0].arguments
        multiplied = [_argument(operand) for operand in product.operands]
        addends = list(total.operands)
        sums = end.operands[0] == total.results[0] and product.results[0] in addends
        others = [addend for addend in addends if addend != product.results[0]]
        if not sums or others != [block[2]] or {*multiplied} != {block[0], block[1]}:
            return None
        return (0, 1) if multiplied[0] == block[0] else (1, 0)


def _argument(value: Value) -> Value:
    """What a value was before it was widened."""
    owner = getattr(value, "owner", None)
    if owner is not None and getattr(owner, "name", "") in _CASTS:
        return owner.operands[0]
    return value


def nest(op: Operation) -> Nest | None:
    """The operation as a loop nest on buffers; None for one of another kind."""
    if not op.name.startswith("linalg.") or not op.operands:
        return None
    maps = get_indexing_maps(op)
    if maps is None or len(maps) != len(op.operands):
        return None
    rows = [tuple(map(index_of, index_map.value.results)) for index_map in maps]
    if any(index is None for row in rows for index in row):
        return None
    return Nest(op, tuple(rows), maps[0].value.n_dims)  # type: ignore[arg-type]


def element(value: Value) -> str:
    """The type of a buffer's elements, or of a scalar, as MLIR writes it."""
    type = value.type
    return str(type.element_type if isinstance(type, MemRefType) else type)

# SPDX-License-Identifier: Apache-2.0
"""The rows and columns over which the operations of a group run, and their loops there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xtc.ir.analysis.structured import Structured, body_operations, shape_of
from xtc.ir.mlir import FloatType, IntegerType, Operation, RankedTensorType, Value
from xtc_targets.nvgpu.passes._thread_reductions import Reduction, reduction_of

Place = tuple[int | None, ...]
"""The dimension of the space for each dimension of a tensor, or each loop of an operation; None for
those of size 1."""

KINDS = {
    "arith.addf": "sum",
    "arith.maximumf": "max",
    "arith.minimumf": "min",
    "arith.addi": "sum",
    "arith.maxsi": "max",
    "arith.minsi": "min",
    "arith.maxui": "umax",
    "arith.minui": "umin",
}
"""The reduction of a tile for each operation that combines two elements."""

_ELEMENTWISE = ("arith.", "math.")
_WIDTHS = (1, 8, 16, 32, 64)


@dataclass(frozen=True)
class RowSpace:
    """Rows of elements: dimensions without those of size 1.

    Attributes:
        extents: the size of each dimension.
        rows: the number of leading dimensions that number the rows; the others are columns.
    """

    extents: tuple[int, ...]
    rows: int

    @property
    def row_dims(self) -> range:
        return range(self.rows)

    @property
    def column_dims(self) -> range:
        return range(self.rows, len(self.extents))

    @property
    def length(self) -> int:
        """The number of elements of a row."""
        return math.prod(self.extents[self.rows :])

    def is_full(self, place: Place) -> bool:
        """Whether a tensor has an element for each row and column."""
        return len(set(place) - {None}) == len(self.extents)

    def is_per_row(self, place: Place) -> bool:
        """Whether a tensor has an element for each row."""
        return set(place) - {None} == set(self.row_dims)


def space_of(reduction: Reduction) -> tuple[RowSpace, Place] | None:
    """The rows that a reduction reduces, and the place of its loops; None if it has none.

    Columns are in the order in which the first operand that has them all stores them.
    """
    nest = reduction.nest
    rows = [loop for loop in nest.out if nest.extents[loop] > 1]
    along = {loop for loop in nest.reductions if nest.extents[loop] > 1}
    for number in range(nest.destination):
        used = [index.loop for index in nest.indices[number]]
        columns = [loop for loop in used if loop in along]
        if columns and set(columns) == along:
            order = [*rows, *(loop for loop in columns if loop is not None)]
            place = tuple(
                order.index(loop) if loop in order else None for loop in range(len(nest.extents))
            )
            return RowSpace(tuple(nest.extents[loop] for loop in order), len(rows)), place
    return None


def place_of_operand(nest: Structured, number: int, loops: Place) -> Place | None:
    """The place of an operand of an operation with these loops; None if an index is a sum."""
    found: list[int | None] = []
    shape = shape_of(nest.op.operands[number]) if nest.indices[number] else ()
    for index, size in zip(nest.indices[number], shape, strict=True):
        if index.loop is not None:
            found.append(loops[index.loop])
        elif size == 1 and not index.offset:
            found.append(None)
        else:
            return None
    return tuple(found)


def loops_at(nest: Structured, space: RowSpace, known: Sequence[Place | None]) -> Place | None:
    """The place of an operation's loops, from those of its operands; None if there is none.

    Loops that no known operand has are the columns, in order.
    """
    loops: dict[int, int | None] = {
        loop: None for loop, extent in enumerate(nest.extents) if extent == 1
    }
    for number, place in enumerate(known):
        if place is None:
            continue
        for index, dim in zip(nest.indices[number], place, strict=True):
            if index.loop is not None and loops.setdefault(index.loop, dim) != dim:
                return None
    left = [loop for loop in range(len(nest.extents)) if loop not in loops]
    if left:
        if [nest.extents[loop] for loop in left] != list(space.extents[space.rows :]):
            return None
        loops.update(zip(left, space.column_dims, strict=True))
    found = tuple(loops[loop] for loop in range(len(nest.extents)))
    dims = [dim for dim in found if dim is not None]
    fits = all(
        dim is None or space.extents[dim] == nest.extents[loop] for loop, dim in enumerate(found)
    )
    return found if fits and len(set(dims)) == len(dims) else None


def suits(nest: Structured, space: RowSpace, loops: Place) -> bool:
    """Whether an operation with these loops computes each row from the same row of its operands."""
    if space.is_full(loops):
        columns = [loops[loop] for loop in nest.reductions]
        if nest.reductions and set(columns) - {None} != set(space.column_dims):
            return False
    elif not space.is_per_row(loops) or nest.reductions:
        return False
    return all(_is_contiguous(nest, number, space, loops) for number in range(len(nest.indices)))


def _is_contiguous(nest: Structured, number: int, space: RowSpace, loops: Place) -> bool:
    """Whether an operand has no columns, or all of them in order, as its last dimensions."""
    place = place_of_operand(nest, number, loops)
    if place is None:
        return False
    dims = [dim for dim in place if dim is not None]
    columns = [dim for dim in dims if dim in space.column_dims]
    return not columns or dims[-len(columns) :] == list(space.column_dims)


def is_elementwise(nest: Structured) -> bool:
    """Whether an operation computes each element of its result once, from scalars."""
    if nest.reductions or nest.op.name == "linalg.fill" or nest.reads_destination:
        return False
    return len(nest.out) == len(nest.extents) and _has_plain_body(nest)


def is_row_reduction(nest: Structured) -> bool:
    """Whether an operation is a reduction of any order that tiles have, of a filled tensor."""
    reduction = reduction_of(nest)
    return reduction is not None and reduction.combine.name in KINDS and _has_plain_body(nest)


def _has_plain_body(nest: Structured) -> bool:
    *ops, _ = body_operations(nest.op)
    values = [*nest.op.operands, *(value for op in ops for value in op.results)]
    return all(not op.regions and op.name.startswith(_ELEMENTWISE) for op in ops) and all(
        _is_number(value) for value in values
    )


def _is_number(value: Value) -> bool:
    type = value.type.element_type if isinstance(value.type, RankedTensorType) else value.type
    return isinstance(type, FloatType | IntegerType) and type.width in _WIDTHS


def place_of_view(op: Operation, place: Place) -> Place | None:
    """The place of a view that adds or drops dimensions of size 1; None for other views.

    `place` is that of its operand.
    """
    before, after = shape_of(op.operands[0]), shape_of(op.results[0])
    if [size for size in before if size > 1] != [size for size in after if size > 1]:
        return None
    left = iter([dim for dim, size in zip(place, before, strict=True) if size > 1])
    return tuple(next(left) if size > 1 else None for size in after)

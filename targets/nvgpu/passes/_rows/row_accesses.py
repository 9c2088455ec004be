# SPDX-License-Identifier: Apache-2.0
"""The buffers of a kernel over rows: which of their elements belong to a row and a column."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xtc.ir.analysis.structured import Structured, type_bits
from xtc.ir.builders import tile
from xtc.ir.builders.numbers import Number, divide_unsigned, multiply, remainder_unsigned
from xtc.ir.mlir import MemRefType, Type, Value
from xtc_targets.nvgpu.description import ACCESS_BYTES
from xtc_targets.nvgpu.passes._contractions.mma_operand import strided
from xtc_targets.nvgpu.passes._rows.row_space import Place, RowSpace
from xtc_targets.nvgpu.passes._thread_code import as_i32


@dataclass(frozen=True)
class Access:
    """An operand in global memory.

    Attributes:
        buffer: the buffer or a view of it.
        steps: the distance of neighbors along each dimension of the rows; 0 where it has none.
        offset: its first element.
    """

    buffer: Value
    steps: tuple[int, ...]
    offset: int

    @property
    def element(self) -> Type:
        """The type of its elements."""
        return MemRefType(self.buffer.type).element_type

    @property
    def nbytes(self) -> int:
        """Bytes of an element."""
        return max(8, type_bits(self.element)) // 8


def access_of(nest: Structured, number: int, space: RowSpace, loops: Place) -> Access:
    """The access to an operand of an operation whose loops run over these dimensions."""
    buffer = nest.op.operands[number]
    strides, offset = MemRefType(buffer.type).get_strides_and_offset()
    steps = [0] * len(space.extents)
    for index, stride in zip(nest.indices[number], strides, strict=True):
        offset += index.offset * stride
        for loop, factor in index.factors:
            dim = loops[loop]
            if dim is not None:
                steps[dim] += factor * stride
    return Access(buffer, tuple(steps), offset)


@dataclass(frozen=True)
class Grid:
    """Rows as the blocks of a grid see them: dimensions that no access separates are one.

    Attributes:
        groups: the dimensions of the space in each of these; the last one has the columns, the
            one before it the rows of a tile, the others number the tiles.
        extents: their sizes.
    """

    groups: tuple[tuple[int, ...], ...]
    extents: tuple[int, ...]

    @property
    def rows(self) -> int:
        """The number of rows among which a tile has its rows."""
        return self.extents[-2]

    @property
    def length(self) -> int:
        """The number of elements of a row."""
        return self.extents[-1]

    @property
    def batch(self) -> int:
        """The number of times that there are `rows` rows."""
        return math.prod(self.extents[:-2])

    def steps(self, access: Access) -> list[int]:
        """The distance of neighbors along each group of dimensions."""
        return [access.steps[group[-1]] if group else 0 for group in self.groups]

    def packed(self, access: Access) -> int:
        """The number of elements of an aligned vector, of 16 bytes at most, along a row."""
        *others, last = self.steps(access)
        if last != 1:
            return 1
        return math.gcd(ACCESS_BYTES // access.nbytes, access.offset, self.length, *others)

    def position(self, block: Value, rows: int) -> list[Number]:
        """The first element of a block's tile of `rows` rows."""
        sizes = [*self.extents[:-2], -(-self.rows // rows)]
        found: list[Number] = []
        rest: Number = block
        for size in reversed(sizes[1:]):
            found.insert(0, remainder_unsigned(rest, size))
            rest = divide_unsigned(rest, size)
        *batch, tile_number = [rest, *found]
        return [*batch, multiply(tile_number, rows), 0]

    def view(self, access: Access, at: Sequence[Number]) -> tuple[Value, list[Value]]:
        """The memory of an access by groups of dimensions, and the tile's first element there."""
        steps = self.steps(access)
        sizes = [extent if step else 1 for extent, step in zip(self.extents, steps, strict=True)]
        begin = [number if step else 0 for number, step in zip(at, steps, strict=True)]
        view = strided(access.buffer, sizes, steps, access.offset)
        return view, [as_i32(number) for number in begin]

    def load(self, access: Access, at: Sequence[Number], type: Type) -> Value:
        """Load the elements of a tile."""
        view, offsets = self.view(access, at)
        return tile.load_global(view, offsets, self._dims, type)

    def store(self, value: Value, access: Access, at: Sequence[Number]) -> None:
        """Store the elements of a tile."""
        view, offsets = self.view(access, at)
        tile.store_global(value, view, offsets, self._dims)

    @property
    def _dims(self) -> tuple[int, int]:
        return len(self.groups) - 2, len(self.groups) - 1


def grid_of(space: RowSpace, accesses: Sequence[Access]) -> Grid | None:
    """The grid for these accesses; None if they separate columns."""
    columns = _merged(space, list(space.column_dims), accesses)
    rows = _merged(space, list(space.row_dims), accesses) or [()]
    if len(columns) != 1:
        return None
    groups = (*rows, *columns)
    extents = tuple(math.prod(space.extents[dim] for dim in group) for group in groups)
    return Grid(groups, extents)


def _merged(
    space: RowSpace, dims: Sequence[int], accesses: Sequence[Access]
) -> list[tuple[int, ...]]:
    """Neighboring dimensions that every access passes through as if they were one."""
    groups: list[tuple[int, ...]] = []
    for dim in dims:
        is_one = bool(groups) and all(
            access.steps[dim - 1] == access.steps[dim] * space.extents[dim] for access in accesses
        )
        if is_one:
            groups[-1] = (*groups[-1], dim)
        else:
            groups.append((dim,))
    return groups

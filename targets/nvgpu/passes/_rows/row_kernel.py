# SPDX-License-Identifier: Apache-2.0
"""Writes the operations of a group as operations on the tile of a block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xtc.core.errors import CompileError
from xtc.ir.analysis.structured import Structured, body_operations, structured
from xtc.ir.analysis.views import root
from xtc.ir.builders import tile
from xtc.ir.builders.rebuild import rebuilt
from xtc.ir.mlir import (
    BlockArgument,
    MemRefType,
    Operation,
    RankedTensorType,
    Type,
    Value,
    tensor,
)
from xtc.ir.tile_dialect import with_layout
from xtc_targets.nvgpu.passes._rows.row_accesses import Access, Grid, access_of, grid_of
from xtc_targets.nvgpu.passes._rows.row_marks import loops_of
from xtc_targets.nvgpu.passes._rows.row_space import KINDS, Place, RowSpace, place_of_operand
from xtc_targets.nvgpu.passes._rows.row_tiling import (
    RowTiling,
    choose_tiling,
    pressure_of,
    registers_of,
)
from xtc_targets.nvgpu.passes._thread_reductions import Reduction, reduction_of
from xtc_targets.nvgpu.passes._tiles.classes import is_tile

FILL = "linalg.fill"


@dataclass(frozen=True, eq=False)
class Step:
    """An operation of a kernel.

    Attributes:
        nest: the operation.
        loops: the place of its loops; empty for a fill.
    """

    nest: Structured
    loops: Place

    @property
    def buffer(self) -> Value:
        """The buffer that it writes."""
        return root(self.nest.op.operands[self.nest.destination])


def steps_of(ops: Sequence[Operation]) -> list[Step]:
    """The operations of a kernel. Raises CompileError for others than of a group."""
    found = []
    for op in ops:
        nest = structured(op)
        if nest is None:
            raise CompileError(f"{op.name} in a kernel over rows", where=str(op.location))
        found.append(Step(nest, () if op.name == FILL else loops_of(op)))
    return found


def space_of_steps(steps: Sequence[Step]) -> RowSpace:
    """The rows over which the operations of a kernel run."""
    extents: dict[int, int] = {}
    columns = set()
    for step in steps:
        for loop, dim in enumerate(step.loops):
            if dim is not None:
                extents[dim] = step.nest.extents[loop]
                if loop in step.nest.reductions:
                    columns.add(dim)
    return RowSpace(tuple(extents[dim] for dim in sorted(extents)), min(columns))


class RowKernel:
    """The tile kernel of a group.

    Attributes:
        grid: the rows, for blocks.
        tiling: the tile of a block.
    """

    def __init__(self, steps: Sequence[Step], sms: int) -> None:
        self._steps, self._space = steps, space_of_steps(steps)
        self._last = {step.buffer: number for number, step in enumerate(steps)}
        accesses = self._accesses()
        grid = grid_of(self._space, accesses)
        if grid is None:
            op = steps[0].nest.op
            raise CompileError("the columns of the rows are not contiguous", where=str(op.location))
        self.grid: Grid = grid
        whole = [access for access in accesses if access.steps[-1]]
        widest = max((access.nbytes for access in whole), default=16)
        packed = min(16 // widest, max(map(grid.packed, whole), default=1))
        self.tiling: RowTiling = choose_tiling(
            grid.rows, grid.batch, grid.length, packed, self._pressure(), sms
        )
        self._values: dict[Value, Value] = {}
        self._loaded: dict[tuple[Value, tuple[int, ...], int], Value] = {}

    @property
    def blocks(self) -> int:
        """The number of blocks."""
        return self.grid.batch * -(-self.grid.rows // self.tiling.rows)

    def _accesses(self) -> list[Access]:
        """All accesses to memory."""
        found, written = [], set()
        for number, step in enumerate(self._steps):
            operands = list(step.nest.op.operands)
            for at, value in enumerate(operands[: step.nest.destination]):
                if isinstance(value.type, MemRefType) and root(value) not in written:
                    found.append(self._access(step, at))
            written.add(step.buffer)
            if self._is_stored(number, step):
                found.append(self._access(step, step.nest.destination))
        return found

    def _pressure(self) -> float:
        """Registers of a thread per element of a row."""
        versions: dict[Value, int] = {}
        found = []
        for number, step in enumerate(self._steps):
            nest, values = step.nest, []
            for at, value in enumerate(nest.op.operands):
                if at == nest.destination:
                    versions[step.buffer] = number
                if self._has_columns(step, at):
                    values.append(((root(value), versions.get(root(value))), registers_of(value)))
            found.append(values)
        return pressure_of(found)

    def _has_columns(self, step: Step, operand: int) -> bool:
        if step.nest.op.name == FILL:
            return False
        place = place_of_operand(step.nest, operand, step.loops) or ()
        return any(dim in self._space.column_dims for dim in place)

    def _access(self, step: Step, operand: int) -> Access:
        return access_of(step.nest, operand, self._space, step.loops)

    def _is_stored(self, number: int, step: Step) -> bool:
        """Whether an operation computes the last content of a buffer of the kernel's caller."""
        return isinstance(step.buffer, BlockArgument) and self._last[step.buffer] == number

    def write(self) -> None:
        """Write the kernel at the current insertion point."""
        self._at = self.grid.position(tile.block_id(0), self.tiling.rows)
        for number, step in enumerate(self._steps):
            with step.nest.op.location:
                value = self._computed(step)
                if self._is_stored(number, step):
                    access = self._access(step, step.nest.destination)
                    value = self._tile(value, self._shape(access))
                    self.grid.store(value, access, self._at)
                self._values[step.buffer] = value

    def _computed(self, step: Step) -> Value:
        nest = step.nest
        if nest.op.name == FILL:
            return nest.op.operands[0]
        operands = [self._operand(step, number) for number in range(nest.destination)]
        values: dict[Value, Value] = dict(zip(nest.body.arguments, operands, strict=False))
        if nest.reductions:
            reduction = reduction_of(nest)
            assert reduction is not None  # noqa: S101  see group-rows
            return self._reduced(step, reduction, values)
        *ops, end = body_operations(nest.op)
        self._evaluate(ops, values)
        return values.get(end.operands[0], end.operands[0])

    def _reduced(self, step: Step, reduction: Reduction, values: dict[Value, Value]) -> Value:
        combine = reduction.combine
        ops = [op for op in body_operations(step.nest.op)[:-1] if op != combine]
        self._evaluate(ops, values)
        rows, length = self._whole
        element = self._tile(values.get(reduction.element, reduction.element), (rows, length))
        type = self._type((rows, 1), combine.results[0].type)
        total = tile.reduce(element, 1, KINDS[combine.name], type)
        first = self._tile(self._values[step.buffer], (rows, 1))
        return rebuilt(combine, [first, total], [type]).results[0]

    def _operand(self, step: Step, number: int) -> Value:
        """The elements of an operand: computed, or loaded once."""
        value = step.nest.op.operands[number]
        if not isinstance(value.type, MemRefType):
            return value
        if root(value) in self._values:
            return self._values[root(value)]
        access = self._access(step, number)
        key = (root(value), access.steps, access.offset)
        if key not in self._loaded:
            type = self._type(self._shape(access), access.element)
            self._loaded[key] = self.grid.load(access, self._at, type)
        return self._loaded[key]

    def _evaluate(self, ops: Sequence[Operation], values: dict[Value, Value]) -> None:
        """Apply the operations of a body to tiles, each in the smallest shape that suffices."""
        for op in ops:
            given = [values.get(value, value) for value in op.operands]
            shapes = [_shape_of(value) for value in given if is_tile(value)]
            if shapes:
                shape = max(row for row, _ in shapes), max(column for _, column in shapes)
                given = [self._tile(value, shape) for value in given]
                types: list[Type] = [self._type(shape, value.type) for value in op.results]
                made = rebuilt(op, given, types)
            else:
                made = op.clone().operation
                for position, value in enumerate(given):
                    made.operands[position] = value
            values.update(zip(op.results, made.results, strict=True))

    @property
    def _whole(self) -> tuple[int, int]:
        return self.tiling.rows, self.tiling.length

    def _shape(self, access: Access) -> tuple[int, int]:
        """The shape of the tile of an operand."""
        *_, row, column = self.grid.steps(access)
        rows, length = self._whole
        return (rows if row else 1), (length if column else 1)

    def _type(self, shape: tuple[int, int], element: Type) -> RankedTensorType:
        still = [dim for dim in (0, 1) if shape[dim] != self._whole[dim]]
        layout = self.tiling.layout
        own = layout.reduced(still) if still else layout
        return with_layout(RankedTensorType.get(list(shape), element), own)

    def _tile(self, value: Value, shape: tuple[int, int]) -> Value:
        """A tile of this shape, from a smaller one or a scalar."""
        if not is_tile(value):
            return tensor.splat(self._type(shape, value.type), value, [])
        if _shape_of(value) == shape:
            return value
        return tile.broadcast(value, self._type(shape, RankedTensorType(value.type).element_type))


def _shape_of(value: Value) -> tuple[int, int]:
    rows, columns = RankedTensorType(value.type).shape
    return rows, columns

# SPDX-License-Identifier: Apache-2.0
"""Writes the accumulators of a contraction to its result, after the epilogue."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from xtc.core.tile_layout import RegisterLayout, blocked
from xtc.ir.analysis.structured import Structured, body_operations
from xtc.ir.builders import control, tile
from xtc.ir.builders.numbers import Number, add
from xtc.ir.builders.rebuild import rebuilt
from xtc.ir.builders.slices import subview
from xtc.ir.mlir import (
    F32Type,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    RankedTensorType,
    StridedLayoutAttr,
    Value,
    arith,
    memref,
    tensor,
)
from xtc.ir.tile_dialect import with_layout
from xtc_targets.nvgpu.description import ACCESS_BYTES
from xtc_targets.nvgpu.passes._contractions.mma_operand import ON_CHIP, strided
from xtc_targets.nvgpu.passes._contractions.mma_tiling import Tiling
from xtc_targets.nvgpu.passes._thread_code import as_i32
from xtc_targets.nvgpu.passes._tiles.classes import is_tile
from xtc_targets.nvgpu.passes._tiles.shared_memory import bytes_of


@dataclass(frozen=True)
class Result:
    """The destination of a block's tile of a contraction.

    Attributes:
        memref: the result of the contraction or of its epilogue.
        batch: the block's indices of the leading dimensions.
        row, column: the first row and column of the tile.
        epilogue: the operation on each element, and the index of the operand that the
            contraction computes; None if the accumulators are the result.
    """

    memref: Value
    batch: tuple[Number, ...]
    row: Number
    column: Number
    epilogue: tuple[Structured, int] | None

    @property
    def operand_dims(self) -> list[tuple[int, ...] | None]:
        """The dimensions of the tile, 0 and 1, along which each operand of the epilogue varies;
        None for the tile itself, and for scalars."""
        if self.epilogue is None:
            return []
        nest, number = self.epilogue
        return [
            tuple(dim for dim in (0, 1) if _steps(nest, operand)[dim - 2])
            if operand != number and isinstance(nest.op.operands[operand].type, MemRefType)
            else None
            for operand in range(nest.destination)
        ]


def copied_vectors(tiling: Tiling, result: Result) -> dict[int, Value]:
    """Copy the epilogue's vectors along rows or columns of the block's tile to shared memory.

    Threads copy 16 bytes at a time; later, each reads only the elements for its accumulators.
    """
    if result.epilogue is None:
        return {}
    nest, number = result.epilogue
    elements = _Elements(result, (*result.batch, result.row, result.column), (tiling.m, tiling.n))
    at_loop = elements.at_loop(nest)
    found = {}
    for operand, dims in enumerate(result.operand_dims):
        if operand != number and dims is not None and len(dims) == 1:
            value = elements.loaded(nest, operand, at_loop)
            type = RankedTensorType(value.type)
            kind = MemRefType.get(type.shape, type.element_type, None, _on_chip())
            found[operand] = memref.alloc(kind, [], [])
            tile.store_shared(value, found[operand])
    return found


def write_tile(accumulators: Value, result: Result, vectors: Mapping[int, Value]) -> None:
    """Write the block's tile from the accumulators, by one store, before layouts are inferred.

    `vectors` are operands of the epilogue that the threads have copied to shared memory.
    """
    if vectors:
        tile.sync()
    view = _whole(result.memref)
    at = (*result.batch, result.row, result.column)
    shape = RankedTensorType(accumulators.type).shape
    made = _Elements(result, at, shape, vectors=vectors).computed(accumulators)
    rank = len(at)
    tile.store_global(made, view, [as_i32(number) for number in at], (rank - 2, rank - 1))


def _whole(buffer: Value) -> Value:
    type = MemRefType(buffer.type)
    return strided(buffer, type.shape, *type.get_strides_and_offset())


def write_result(
    tiling: Tiling, accumulators: Value, result: Result, *, slots_stay: bool = False
) -> None:
    """Write the block's tile through shared memory, so that a warp's stores are contiguous.

    Unless `slots_stay`, this may be the memory of the operands' slots.
    """
    if not slots_stay:
        # All threads have computed the last tile, but they may still read ahead beyond it.
        tile.sync()
    shared = _stored(tiling, accumulators)
    packed = min(packed_elements(result.memref), tiling.m * tiling.n // tiling.threads)
    rows = tiling.threads * packed // tiling.n
    layout = blocked(tiling.threads, (rows, tiling.n), packed)
    element = MemRefType(shared.type).element_type
    type = with_layout(RankedTensorType.get([rows, tiling.n], element), layout)
    view, rank = _whole(result.memref), len(MemRefType(result.memref.type).shape)
    dims = (rank - 2, rank - 1)
    with control.loop(as_i32(0), tiling.m, rows) as body:
        at = (*result.batch, add(result.row, body.index), result.column)
        offsets = [as_i32(number) for number in at]
        # A thread has one run of a row, which is entirely inside or outside the result.
        with control.branch(tile.inside(view, offsets, dims, layout)):
            first = arith.index_cast(IndexType.get(), body.index)
            part = subview(shared, [first, 0], [rows, tiling.n], [1, 1])
            elements = _Elements(result, at, layout.shape, layout)
            made = elements.computed(tile.load_shared(part, type))
            tile.store_global(made, view, offsets, dims)


def _stored(tiling: Tiling, accumulators: Value) -> Value:
    """Store the accumulators to shared memory, with consecutive rows 8 banks apart."""
    rows = StridedLayoutAttr.get(0, [tiling.result_stride, 1])
    type = MemRefType.get([tiling.m, tiling.n], F32Type.get(), rows, _on_chip())
    shared = memref.alloc(type, [], [])
    tile.store_shared(accumulators, shared)
    tile.sync()
    return shared


def packed_elements(memref: Value) -> int:
    """The number of elements, of at most 16 bytes, in an aligned vector at every multiple of this
    number along the last dimension."""
    type = MemRefType(memref.type)
    strides, offset = type.get_strides_and_offset()
    if strides[-1] != 1:
        return 1
    widest = ACCESS_BYTES // bytes_of(type.element_type)
    return math.gcd(widest, offset, type.shape[-1], *strides[:-1])


class _Elements:
    """Computes an epilogue on a part of the accumulators."""

    def __init__(
        self,
        result: Result,
        at: Sequence[Number],
        shape: Sequence[int],
        layout: RegisterLayout | None = None,
        vectors: Mapping[int, Value] = MappingProxyType({}),
    ) -> None:
        """`at` is the position of the first element; `layout` is None before inference.

        `vectors` are operands in shared memory.
        """
        self.result, self.at, self.layout = result, at, layout
        self.shape, self.vectors = list(shape), vectors

    def at_loop(self, nest: Structured) -> dict[int, Number]:
        """The position for each loop of the result."""
        return dict(zip(nest.out, self.at, strict=True))

    def computed(self, accumulators: Value) -> Value:
        """The elements of the result."""
        if self.result.epilogue is None:
            return accumulators
        nest, number = self.result.epilogue
        at_loop = self.at_loop(nest)
        operands = [
            accumulators if operand == number else self._read(nest, operand, at_loop)
            for operand in range(nest.destination)
        ]
        values: dict[Value, Value] = dict(zip(nest.body.arguments, operands, strict=False))
        *ops, end = body_operations(nest.op)
        for op in ops:
            given = [values.get(value, value) for value in op.operands]
            if any(map(is_tile, given)):
                given = [self._tile(value) for value in given]
                types = [self._type(value.type) for value in op.results]
                made = rebuilt(op, given, types)
            else:
                made = op.clone().operation
                for position, value in enumerate(given):
                    made.operands[position] = value
            values.update(zip(op.results, made.results, strict=True))
        return self._tile(values.get(end.operands[0], end.operands[0]))

    def _type(self, element: object) -> RankedTensorType:
        return with_layout(RankedTensorType.get(self.shape, element), self.layout)

    def _tile(self, value: Value) -> Value:
        """A tile, or a scalar as a tile."""
        return value if is_tile(value) else tensor.splat(self._type(value.type), value, [])

    def _read(self, nest: Structured, operand: int, at_loop: Mapping[int, Number]) -> Value:
        """The elements of an operand that correspond to those of the result."""
        value = nest.op.operands[operand]
        if not isinstance(value.type, MemRefType):
            return value
        if operand in self.vectors:
            type = MemRefType(self.vectors[operand].type)
            plain = tile.tile_type(type.shape, type.element_type)
            read = tile.load_shared(self.vectors[operand], plain)
        else:
            read = self.loaded(nest, operand, at_loop)
        found = RankedTensorType(read.type)
        is_whole = list(found.shape) == self.shape
        return read if is_whole else tile.broadcast(read, self._type(found.element_type))

    def loaded(self, nest: Structured, operand: int, at_loop: Mapping[int, Number]) -> Value:
        """Load these elements from global memory, one along dimensions that do not index them."""
        value, row = nest.op.operands[operand], nest.indices[operand]
        strides, offset = MemRefType(value.type).get_strides_and_offset()
        by_loop = _steps(nest, operand)
        offset += sum(index.offset * stride for index, stride in zip(row, strides, strict=True))
        # Along a loop that does not index the operand, its extent is 1.
        sizes = [
            nest.extents[loop] if step else 1 for loop, step in zip(nest.out, by_loop, strict=True)
        ]
        begin = [at_loop[loop] if step else 0 for loop, step in zip(nest.out, by_loop, strict=True)]
        view = strided(value, sizes, by_loop, offset)
        still = [dim for dim in (0, 1) if not by_loop[dim - 2]]
        own = self.layout.reduced(still) if self.layout is not None and still else self.layout
        shape = [1 if dim in still else size for dim, size in enumerate(self.shape)]
        plain = RankedTensorType.get(shape, MemRefType(value.type).element_type)
        rank = len(sizes)
        offsets = [as_i32(number) for number in begin]
        return tile.load_global(view, offsets, [rank - 2, rank - 1], with_layout(plain, own))


def _on_chip() -> IntegerAttr:
    return IntegerAttr.get(IntegerType.get_signless(64), ON_CHIP)


def _steps(nest: Structured, operand: int) -> list[int]:
    """The stride of an operand for each loop of the result."""
    strides, _ = MemRefType(nest.op.operands[operand].type).get_strides_and_offset()
    row = nest.indices[operand]
    return [
        sum(index.factor(loop) * stride for index, stride in zip(row, strides, strict=True))
        for loop in nest.out
    ]

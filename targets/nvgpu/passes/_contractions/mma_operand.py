# SPDX-License-Identifier: Apache-2.0
"""An operand of a contraction: its view of global memory, and its buffer slots."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xtc.core.tile_layout import RegisterLayout
from xtc.ir.analysis.views import root
from xtc.ir.builders import tile
from xtc.ir.builders.numbers import Number, multiply
from xtc.ir.mlir import (
    AffineMap,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ShapedType,
    StridedLayoutAttr,
    Value,
    arith,
    memref,
)
from xtc.ir.tile_dialect import with_layout
from xtc_targets.nvgpu.description import ACCESS_BYTES
from xtc_targets.nvgpu.passes._contractions.mma_contraction import MmaContraction
from xtc_targets.nvgpu.passes._thread_code import as_i32
from xtc_targets.nvgpu.passes._tiles.mma_kind import Kind
from xtc_targets.nvgpu.passes._tiles.shared_memory import CHUNK_BYTES

ON_CHIP = 2
"""The memory space of shared tensors in tile code."""

_UNKNOWN = ShapedType.get_dynamic_stride_or_offset()

PAIR_OF_CHUNKS = 32
"""Bytes that swizzles keep together if a warp reads 4 rows of 32 bytes by elements."""


@dataclass(frozen=True)
class GlobalOperand:
    """A block's part of an operand in global memory.

    Attributes:
        view: the buffer, with its strides.
        offsets: the block's first element in each dimension; 0 along K.
        own, k: the dimension that it shares with the result, and the reduction dimension.
        kind: the kind of its elements.
    """

    view: Value
    offsets: tuple[Number, ...]
    own: int
    k: int
    kind: Kind

    @property
    def along_k(self) -> bool:
        """Whether elements along K are contiguous."""
        return self._strides[self.k] == 1

    @property
    def _strides(self) -> list[int]:
        strides: list[int] = MemRefType(self.view.type).get_strides_and_offset()[0]
        return strides

    def fits(self, size: int, k_size: int) -> bool:
        """Whether tiles of this size divide the operand."""
        shape: list[int] = MemRefType(self.view.type).shape
        return shape[self.own] % size == 0 and shape[self.k] % k_size == 0


def operand_of(
    contraction: MmaContraction, operand: int, batch: Sequence[Number], first: Number
) -> GlobalOperand:
    """A block's part of an operand, which begins with row or column `first`.

    The last dimension of the view is contiguous.
    """
    buffer = contraction.nest.op.operands[operand]
    type = MemRefType(buffer.type)
    strides, offset = type.get_strides_and_offset()
    loops = [index.loop for index in contraction.nest.indices[operand]]
    own = contraction.n if operand else contraction.m
    at = {**dict(zip(contraction.batch, batch, strict=True)), own: first, contraction.k: 0}
    order = sorted(range(len(loops)), key=lambda dim: strides[dim] == 1 and type.shape[dim] > 1)
    sizes, steps = ([numbers[dim] for dim in order] for numbers in (type.shape, strides))
    # No address depends on the stride of a single row; bulk copies need multiples of 16 bytes.
    lanes = ACCESS_BYTES // contraction.kind.nbytes
    steps = [
        step if size > 1 else -(-step // lanes) * lanes
        for size, step in zip(sizes[:-1], steps[:-1], strict=True)
    ] + steps[-1:]
    loops = [loops[dim] for dim in order]
    return GlobalOperand(
        strided(buffer, sizes, steps, offset),
        tuple(at[loop] for loop in loops if loop is not None),
        loops.index(own),
        loops.index(contraction.k),
        contraction.kind,
    )


class OperandSlots:
    """Buffer slots in shared memory, each for a tile of an operand.

    The rows of a tile are those of the operand in memory, along K or across it.
    """

    def __init__(self, operand: GlobalOperand, size: int, k_size: int, slots: int) -> None:
        """Allocate slots of `size` rows of A, or columns of B, and `k_size` elements along K."""
        self.operand, self.size, self.k_size = operand, size, k_size
        along_k = operand.along_k
        self._shape = [size, k_size] if along_k else [k_size, size]
        self._dims = [operand.own, operand.k] if along_k else [operand.k, operand.own]
        element = MemRefType(operand.view.type).element_type
        i64 = IntegerType.get_signless(64)
        type = MemRefType.get([slots, *self._shape], element, None, IntegerAttr.get(i64, ON_CHIP))
        self.buffer = memref.alloc(type, [], [])
        # ldmatrix transposes 16-bit elements; 32-bit elements are read one by one.
        if not along_k and operand.kind.nbytes == 4:
            chunk = IntegerAttr.get(i64, PAIR_OF_CHUNKS)
            self.buffer.owner.attributes[CHUNK_BYTES] = chunk

    def copy(self, number: Number, slot: Number) -> None:
        """Begin to copy the tile with this index along K, with zeros outside the operand."""
        operand = self.operand
        offsets = list(operand.offsets)
        offsets[operand.k] = multiply(number, self.k_size)
        to = self._part(slot, [0, 0], self._shape)
        checked = not operand.fits(self.size, self.k_size)
        given = [as_i32(offset) for offset in offsets]
        tile.copy_async(operand.view, to, given, self._dims, checked)

    def step(self, slot: Number, number: int, layout: RegisterLayout, is_a: bool) -> Value:
        """The fragments of one `mma.sync` step, from the tile in a slot."""
        step, type = self.operand.kind.step, MemRefType(self.buffer.type)
        along_k = self.operand.along_k
        begin, shape = [0, 0], list(self._shape)
        begin[1 if along_k else 0], shape[1 if along_k else 0] = number * step, step
        part = self._part(slot, begin, shape)
        if along_k != is_a:
            part = transposed(part)
        plain = tile.tile_type(MemRefType(part.type).shape, type.element_type)
        return tile.load_shared(part, with_layout(plain, layout))

    def tile(self, slot: Number, *, is_a: bool = False) -> Value:
        """Load the tile in a slot, rows of A or columns of B, into registers of unknown layout."""
        view = self.whole(slot, is_a=is_a)
        type = MemRefType(view.type)
        return tile.load_shared(view, tile.tile_type(type.shape, type.element_type))

    def whole(self, slot: Number, *, is_a: bool = False) -> Value:
        """The tile in a slot as a view of shared memory: rows of A, or columns of B."""
        part = self._part(slot, [0, 0], self._shape)
        return part if self.operand.along_k == is_a else transposed(part)

    def free(self) -> None:
        """Release the slots."""
        memref.dealloc(self.buffer)

    def _part(self, slot: Number, begin: Sequence[int], shape: Sequence[int]) -> Value:
        whole = MemRefType(self.buffer.type)
        (_, *strides), _ = whole.get_strides_and_offset()
        at = slot if isinstance(slot, int) else arith.index_cast(IndexType.get(), slot)
        start = sum(number * step for number, step in zip(begin, strides, strict=True))
        start = slot * math.prod(self._shape) + start if isinstance(slot, int) else _UNKNOWN
        layout = StridedLayoutAttr.get(start, strides)
        type = MemRefType.get(list(shape), whole.element_type, layout, whole.memory_space)
        return memref.subview(self.buffer, [at, *begin], [1, *shape], [1, 1, 1], result_type=type)


def transposed(view: Value) -> Value:
    """The transposed view of a matrix in shared memory."""
    whole = MemRefType(view.type)
    strides, offset = whole.get_strides_and_offset()
    layout = StridedLayoutAttr.get(offset, strides[::-1])
    type = MemRefType.get(whole.shape[::-1], whole.element_type, layout, whole.memory_space)
    return memref.transpose(type, view, AffineMap.get_permutation([1, 0]))


def strided(buffer: Value, sizes: Sequence[int], strides: Sequence[int], offset: int) -> Value:
    """The memory of a buffer, or of a view, as a memref of these sizes and strides."""
    base = root(buffer)
    type = MemRefType(base.type)
    layout = StridedLayoutAttr.get(offset, list(strides))
    view = MemRefType.get(list(sizes), type.element_type, layout, type.memory_space)
    numbers = [offset], list(sizes), list(strides)
    return memref.ReinterpretCastOp(view, base, [], [], [], *numbers).result

# SPDX-License-Identifier: Apache-2.0
"""An operand of a contraction in global memory, and the layout of its tiles in shared memory."""

from __future__ import annotations

from dataclasses import dataclass

from xtc.ir.builders.numbers import (
    Number,
    add,
    divide_unsigned,
    exclusive_or,
    multiply,
    remainder_unsigned,
)
from xtc.ir.mlir import Value
from xtc_targets.nvgpu.passes._mma_contraction import Kind

CHUNK = 16
"""Bytes of a row of a matrix that ldmatrix loads; they stay together in shared memory."""

PERIOD = 8
"""Rows this far apart have their chunks in the same order."""


@dataclass(frozen=True)
class Strided:
    """An operand in global memory. Strides are in elements.

    Attributes:
        address: of its first element, for this block's part of the batch.
        extent, stride: along the dimension that it shares with the result.
        k_extent, k_stride: along K.
        width: bytes that a thread copies at a time; they are aligned to their number.
    """

    address: Value
    extent: int
    stride: int
    k_extent: int
    k_stride: int
    width: int

    @property
    def along_k(self) -> bool:
        """Whether elements along K are contiguous."""
        return self.k_stride == 1


@dataclass(frozen=True)
class Panel:
    """Tiles of one operand, `size` by `k_bytes`, in slots of shared memory.

    A tile has rows as the operand has in memory, along K or across. Chunk c of row r is chunk
    c ^ f(r) of its row; f spreads the accesses of a warp over all banks.

    Attributes:
        source: the operand.
        kind: of its elements.
        size: rows of A, or columns of B, of a tile.
        k_bytes: bytes of a tile along K.
        first: row or column with which the block's tiles begin.
        offset: where tiles begin in a slot of shared memory.
    """

    source: Strided
    kind: Kind
    size: int
    k_bytes: int
    first: Number
    offset: int

    @property
    def k_elements(self) -> int:
        return self.k_bytes // self.kind.nbytes

    @property
    def rows(self) -> int:
        return self.size if self.source.along_k else self.k_elements

    @property
    def row_bytes(self) -> int:
        return self.size * self.k_bytes // self.rows

    @property
    def by_matrices(self) -> bool:
        """Whether ldmatrix brings elements where mma wants them: it transposes 16 bits, not 32."""
        return self.source.along_k or self.kind.nbytes == 2

    def chunk_offset(self, row: Number, chunk: Number) -> Number:
        """The offset of a chunk of a tile."""
        spread = multiply(exclusive_or(chunk, self._spread(row)), CHUNK)
        return add(multiply(row, self.row_bytes), add(spread, self.offset))

    def _spread(self, row: Number) -> Number:
        """f(row)."""
        if not self.by_matrices:  # a warp reads 4 rows, and 2 chunks of each
            return multiply(remainder_unsigned(row, 4), 2)
        chunks = self.row_bytes // CHUNK  # ldmatrix reads 8 rows, and a chunk of each
        return remainder_unsigned(divide_unsigned(row, max(1, 8 // chunks)), min(8, chunks))

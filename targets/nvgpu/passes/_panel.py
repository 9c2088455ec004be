# SPDX-License-Identifier: Apache-2.0
"""A factor of a product: where it is in global memory, and how its tiles lie in shared memory."""

from __future__ import annotations

from dataclasses import dataclass

from xtc.ir.mlir import Value
from xtc_targets.nvgpu.passes._mma_contraction import Kind
from xtc_targets.nvgpu.passes._thread_code import Code, Number

CHUNK = 16
"""Bytes of a row of a matrix that ldmatrix loads; they stay together in shared memory."""

PERIOD = 8
"""Rows this far apart have their chunks in the same order."""


@dataclass(frozen=True)
class Strided:
    """A factor in global memory. Strides are in elements.

    Attributes:
        address: of its first element, for this block's part of the batch.
        extent, stride: along the dimension that it shares with the result.
        k_extent, k_stride: along the sum's.
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
        """Whether neighbours in memory are neighbours in the sum."""
        return self.k_stride == 1


@dataclass(frozen=True)
class Panel:
    """Tiles of one factor, `size` by `k_bytes`, that come through shared memory.

    A tile has rows as the factor has in memory, along K or across. Chunk c of row r is at place
    c ^ f(r) of its row, where f spreads over all banks what the lanes of a warp access together.

    Attributes:
        source: the factor.
        kind: of its elements.
        size: rows of A, or columns of B, of a tile.
        k_bytes: terms of the sum of a tile.
        first: row or column with which the block's tiles begin.
        offset: where tiles begin in a stage of shared memory.
    """

    source: Strided
    kind: Kind
    size: int
    k_bytes: int
    first: Number
    offset: int

    @property
    def terms(self) -> int:
        return self.k_bytes // self.kind.nbytes

    @property
    def rows(self) -> int:
        return self.size if self.source.along_k else self.terms

    @property
    def row_bytes(self) -> int:
        return self.size * self.k_bytes // self.rows

    @property
    def by_matrices(self) -> bool:
        """Whether ldmatrix brings elements where mma wants them: it transposes 16 bits, not 32."""
        return self.source.along_k or self.kind.nbytes == 2

    def place(self, code: Code, row: Number, chunk: Number) -> Number:
        """Where a chunk of a tile is."""
        spread = code.mul(code.xor(chunk, self._spread(code, row)), CHUNK)
        return code.add(code.mul(row, self.row_bytes), code.add(spread, self.offset))

    def _spread(self, code: Code, row: Number) -> Number:
        """f(row)."""
        if not self.by_matrices:  # a warp reads 4 rows, and 2 chunks of each
            return code.mul(code.rem(row, 4), 2)
        chunks = self.row_bytes // CHUNK  # ldmatrix reads 8 rows, and a chunk of each
        return code.rem(code.div(row, max(1, 8 // chunks)), min(8, chunks))

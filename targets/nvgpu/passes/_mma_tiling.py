# SPDX-License-Identifier: Apache-2.0
"""Which part of a product a block, and a warp of it, computes, and how far ahead it copies."""

from __future__ import annotations

from dataclasses import dataclass

BLOCKS_SM = 2
"""Blocks that share an SM, so that one computes while the other waits."""

_WARP = 32

_LINE = 128
"""Bytes that the banks of shared memory have side by side, and move in a cycle."""

_RESERVED = 1024
"""Bytes of shared memory that a block takes beside its own ("CUDA C++ Programming Guide")."""

_MACS_PER_BYTE = 1024 / _LINE
"""Multiply-adds of 16 bits that an A100's SM does while shared memory moves a byte (its whitepaper,
table 4); taken for other GPUs too, which only orders tiles (assumption)."""

_ELEMENT_BYTES = 2


@dataclass(frozen=True)
class Tiling:
    """The tiles of a product.

    Attributes:
        m, n: rows and columns of the result that a block computes.
        k_bytes: of a row of A, and of a column of B, in shared memory at a time.
        stages: so many of these are in shared memory, one computed with, the others on their way.
        warps: that share the rows, and that share the columns.
    """

    m: int
    n: int
    k_bytes: int
    stages: int
    warps: tuple[int, int] = (2, 2)

    @property
    def threads(self) -> int:
        return _WARP * self.warps[0] * self.warps[1]

    @property
    def stage_bytes(self) -> int:
        return (self.m + self.n) * self.k_bytes

    @property
    def sum_stride(self) -> int:
        """Sums in shared memory from a row to the next: rows begin 8 banks apart."""
        return self.n + 8

    @property
    def shared_bytes(self) -> int:
        """For the factors, and after them for the sums in float32."""
        return max(self.stages * self.stage_bytes, 4 * self.m * self.sum_stride)

    def blocks(self, m: int, n: int) -> int:
        return -(-m // self.m) * -(-n // self.n)

    def cost(self, m: int, n: int, batch: int, sms: int) -> float:
        """What the SM that has most to do does, in multiply-adds, or what takes as long."""
        return -(-self.blocks(m, n) * batch // sms) * self.m * self.n * max(1.0, self._traffic)

    @property
    def _traffic(self) -> float:
        """Time of shared memory over that of tensor cores: copies to it, and what warps read."""
        warp_m, warp_n = self.m // self.warps[0], self.n // self.warps[1]
        for_rows = 1 / self.n + 1 / warp_n
        for_columns = 1 / self.m + 1 / warp_m
        return _ELEMENT_BYTES * (for_rows + for_columns) * _MACS_PER_BYTE


def choose_tiling(m: int, n: int, batch: int, sms: int, shared_bytes: int) -> Tiling:
    """The tiles with which the busiest SM is done first; the largest of those.

    A warp of the largest keeps as many sums as registers allow without spilling. Where
    `shared_bytes` of an SM has no room for two such blocks, rows of shared memory have 64 bytes,
    with twice as many barriers.
    """
    wide = Tiling(128, 128, _LINE, 3)
    room = BLOCKS_SM * (wide.shared_bytes + _RESERVED) <= shared_bytes
    candidates = (
        wide if room else Tiling(128, 128, _LINE // 2, 4),
        Tiling(128, 64, _LINE, 3),
        Tiling(64, 64, _LINE, 3),
        Tiling(32, 32, _LINE, 3),
    )
    return min(candidates, key=lambda one: one.cost(m, n, batch, sms))

# SPDX-License-Identifier: Apache-2.0
"""Which part of a product a block, and a warp of it, computes, and how far ahead it copies."""

from __future__ import annotations

from dataclasses import dataclass

_WARP = 32
_LINE = 128
"""Bytes that the banks of shared memory have side by side."""


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


def choose_tiling(m: int, n: int, batch: int, sms: int, shared_bytes: int) -> Tiling:
    """The largest tiles of which every SM gets one; the smallest ones where there are too few.

    A warp of the largest reads 128 elements from shared memory for 64 x 64 multiply-adds in each
    step, and keeps as many sums as registers allow without spilling; two such blocks share an SM,
    so that one computes while the other waits. Where `shared_bytes` of an SM has room for it twice,
    tiles have rows of 128 bytes, with half as many barriers.
    """
    wide = Tiling(128, 128, _LINE, 3)
    room = 2 * (wide.shared_bytes + 1024) <= shared_bytes
    candidates = (
        wide if room else Tiling(128, 128, _LINE // 2, 4),
        Tiling(64, 64, _LINE, 3),
    )
    fitting = (one for one in candidates if one.blocks(m, n) * batch >= sms)
    return next(fitting, Tiling(32, 32, _LINE, 3))

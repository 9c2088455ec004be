# SPDX-License-Identifier: Apache-2.0
"""The tile of a block and of a warp, and the depth of the pipeline of copies."""

from __future__ import annotations

from dataclasses import dataclass, replace

from xtc_targets.nvgpu.passes._pipelines.depth import IN_FLIGHT, MOST_SLOTS

BLOCKS_SM = 2
"""Resident blocks per SM, so that one computes while the other waits."""

WIDEST_COPY = 16
"""Maximum bytes that a thread copies at a time."""

_WARP = 32

LINE = 128
"""Bytes that the banks of shared memory transfer in a cycle."""

RESERVED = 1024
"""Bytes of shared memory that the system reserves for a block ("CUDA C++ Programming Guide")."""

_MACS_PER_BYTE = 1024 / LINE
"""16-bit multiply-adds of an A100's SM per byte of shared-memory traffic (its whitepaper, table 4);
used for other GPUs too, since it only ranks tiles (assumption)."""

_ELEMENT_BYTES = 2

_LEAST_COPY = 4
"""Minimum bytes of an asynchronous copy; narrower ones are loads and stores, which wait."""

_FEW, _LONG = 64, 1 << 20
"""Rows or columns of a result that one tile covers, and elements of an operand that take longer to
read than a launch."""


@dataclass(frozen=True)
class Sizes:
    """The sizes of a contraction: extents, the number of matrices, and bytes per element of A
    and B."""

    m: int
    n: int
    k: int
    batch: int
    nbytes: int


@dataclass(frozen=True)
class Tiling:
    """The tiles of a contraction.

    Attributes:
        m, n: rows and columns of the result that a block computes.
        k_bytes: bytes of a row of A, and of a column of B, per tile in shared memory.
        slots: pipeline depth: tiles in shared memory, one in use, the others in flight.
        warps: warps along the rows, and along the columns.
    """

    m: int
    n: int
    k_bytes: int
    slots: int
    warps: tuple[int, int] = (2, 2)

    @property
    def threads(self) -> int:
        return _WARP * self.warps[0] * self.warps[1]

    @property
    def slot_bytes(self) -> int:
        return (self.m + self.n) * self.k_bytes

    def copied_bytes(self, sizes: Sizes) -> int:
        """Bytes that are copied to a slot: not those of rows outside of an operand."""
        return (min(self.m, sizes.m) + min(self.n, sizes.n)) * self.k_bytes

    @property
    def result_stride(self) -> int:
        """Row stride of the results in shared memory, in elements: rows begin 8 banks apart."""
        return self.n + 8

    @property
    def shared_bytes(self) -> int:
        """Shared memory of the operands, reused after the loop for the float32 results."""
        return max(self.slots * self.slot_bytes, 4 * self.m * self.result_stride)

    def blocks(self, m: int, n: int) -> int:
        return -(-m // self.m) * -(-n // self.n)

    def wide(self, m: int, n: int) -> Tiling:
        """The same tile with at least as many columns as rows, unless it adds padding: an
        instruction of a warpgroup reads 64 rows of A, however many columns it has."""
        turned = replace(self, m=self.n, n=self.m)
        is_better = self.m > self.n and n % turned.n == 0
        return turned if is_better and turned.blocks(m, n) <= self.blocks(m, n) else self

    def cost(self, m: int, n: int, batch: int, sms: int) -> float:
        """The time of the busiest SM, in multiply-adds."""
        return -(-self.blocks(m, n) * batch // sms) * self.m * self.n * max(1.0, self._traffic)

    @property
    def _traffic(self) -> float:
        """The ratio of the time of shared memory, for copies and loads, to that of tensor cores."""
        warp_m, warp_n = self.m // self.warps[0], self.n // self.warps[1]
        for_rows = 1 / self.n + 1 / warp_n
        for_columns = 1 / self.m + 1 / warp_m
        return _ELEMENT_BYTES * (for_rows + for_columns) * _MACS_PER_BYTE


def choose_tiling(
    m: int,
    n: int,
    batch: int,
    sms: int,
    shared_bytes: int,
    copy_bytes: int = WIDEST_COPY,
    *,
    many_bounds: bool = False,
) -> Tiling:
    """Choose the tiling with the shortest time of the busiest SM; the largest among equals.

    The warps of the largest tile have as many accumulators as registers allow without spills.
    Rows of shared memory have 64 bytes, with twice as many barriers, if `shared_bytes` of an SM
    has no room for two blocks with rows of 128, or if threads copy less than 16 bytes at a time:
    each copy of a tile needs a register for its bounds, and ptxas would spill. With `many_bounds`,
    both operands are copied element by element along K, and the largest tile is not used at all.
    """
    wide = Tiling(128, 128, LINE, 3)
    room = BLOCKS_SM * (wide.shared_bytes + RESERVED) <= shared_bytes
    largest = wide if room and copy_bytes == WIDEST_COPY else Tiling(128, 128, LINE // 2, 4)
    candidates = (
        *([] if many_bounds else [largest]),
        Tiling(128, 64, LINE // 2 if many_bounds else LINE, 3),
        Tiling(64, 64, LINE, 3),
        Tiling(32, 32, LINE, 3),
    )
    return min(candidates, key=lambda tiling: tiling.cost(m, n, batch, sms))


def tiling_of(
    sizes: Sizes,
    sms: int,
    shared_bytes: int,
    copy_bytes: int = WIDEST_COPY,
    *,
    many_bounds: bool = False,
    bulk_copies: bool = False,
) -> Tiling:
    """Choose the tiling of a contraction; with `bulk_copies`, warpgroups multiply it if they can
    compute its tiles."""
    m, n, batch = sizes.m, sizes.n, sizes.batch
    found = choose_tiling(m, n, batch, sms, shared_bytes, copy_bytes, many_bounds=many_bounds)
    if bulk_copies:
        found = streaming_tiling(m, n, sizes.k, batch, sms) or found.wide(m, n)
    return found if copy_bytes < _LEAST_COPY else _deepened(found, sizes, sms, shared_bytes)


def _deepened(tiling: Tiling, sizes: Sizes, sms: int, shared_bytes: int) -> Tiling:
    """The tiling with enough slots to hide the latency of memory, if shared memory has room."""
    blocks = -(-tiling.blocks(sizes.m, sizes.n) * sizes.batch // sms)
    resident = max(1, min(blocks, shared_bytes // (tiling.shared_bytes + RESERVED)))
    ahead = -(-IN_FLIGHT // (resident * tiling.copied_bytes(sizes)))
    room = (shared_bytes // resident - RESERVED) // tiling.slot_bytes
    tiles = -(-sizes.k * sizes.nbytes // tiling.k_bytes)
    return replace(tiling, slots=max(tiling.slots, min(ahead + 1, room, tiles, MOST_SLOTS)))


def streaming_tiling(m: int, n: int, k: int, batch: int, sms: int) -> Tiling | None:
    """The tiling for a warpgroup if one operand is long and the result has few rows or columns;
    else None.

    The memory limits such a contraction: each SM needs many bytes in flight, which bulk copies of
    small tiles provide, while the padding of a tile to 64 rows costs nothing.
    """
    if min(m, n) > _FEW or max(m, n) * k * batch < _LONG or k < _FEW * 8:
        return None
    narrow, wide = Tiling(64, 32, LINE, 3), Tiling(64, 64, LINE, 3)
    fits = narrow.blocks(m, n) * batch <= sms
    return narrow if fits or n <= narrow.n else wide

# SPDX-License-Identifier: Apache-2.0
"""The rows of a block, and the threads that share a row."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from xtc.core.tile_layout import RegisterLayout, local, spatial
from xtc.ir.analysis.structured import element_bits
from xtc.ir.mlir import Value
from xtc_targets.nvgpu.passes._kernels import WARP

_HELD = 32
"""Elements of a row that a thread may hold."""

_REGISTERS = 80, 24
"""Registers for elements of rows: of the 128 or more that a thread of up to 512 has, and of the 64
of one of 1024. Addresses and the steps of an exponential need others."""

_THREADS = 128
"""Threads of a block whose rows have a warp each, or less."""

_MOST = 1024
"""Threads per block."""

_SHORT = 2
"""Vectors that a thread holds of a row for less than a warp."""


@dataclass(frozen=True)
class RowTiling:
    """The tile of a block, of whole rows.

    Attributes:
        rows: rows of the tile.
        length: elements of a row.
        lanes: threads that share a row, a power of two.
        packed: neighbors in a row that a thread holds.
    """

    rows: int
    length: int
    lanes: int
    packed: int

    @property
    def threads(self) -> int:
        """Threads per block."""
        return self.rows * self.lanes

    @property
    def vectors(self) -> int:
        """The number of vectors of a row that a thread holds."""
        return -(-self.length // (self.lanes * self.packed))

    @property
    def layout(self) -> RegisterLayout:
        """The layout of the tile: the threads of a row hold neighbors."""
        outer = local(1, self.vectors) * spatial(self.rows, self.lanes)
        return (outer * local(1, self.packed)).merged()


_REGISTER_BITS = 32


def registers_of(value: Value) -> float:
    """Registers for an element of a tensor or a buffer; two of 16 bits or less share one."""
    return max(element_bits(value), _REGISTER_BITS // 2) / _REGISTER_BITS


def pressure_of(steps: Sequence[Sequence[tuple[Hashable, float]]]) -> float:
    """The registers of a thread per element of a row that operations need at most.

    Each step has the tensors of an operation, with the registers of an element. A tensor is held
    from its first step to its last. One of a single step counts half: an operation needs its
    elements one after the other.
    """
    first: dict[Hashable, int] = {}
    last: dict[Hashable, int] = {}
    sizes: dict[Hashable, float] = {}
    for number, step in enumerate(steps):
        for tensor, registers in step:
            first.setdefault(tensor, number)
            last[tensor], sizes[tensor] = number, registers
    most = 0.0
    for number in range(len(steps)):
        live = [tensor for tensor in first if first[tensor] <= number <= last[tensor]]
        begun = sum(sizes[each] for each in live if first[each] < number)
        kept = sum(sizes[each] for each in live if last[each] > number)
        once = sum(sizes[each] for each in live if first[each] == last[each])
        most = max(most, begun + once / 2, kept + once / 2)
    return most


def choose_lanes(length: int, packed: int, pressure: float) -> int | None:
    """The threads that share a row; None if registers cannot hold it.

    `pressure` is the number of registers per element of a row. A row has at most a warp if that
    suffices, since warps would have to wait for each other.
    """
    vectors = -(-length // packed)
    lanes = 1
    while lanes < WARP and vectors > _SHORT * lanes:
        lanes *= 2
    while lanes <= _MOST:
        held = -(-vectors // lanes) * packed
        registers = _REGISTERS[lanes == _MOST]
        if held <= max(packed, _HELD) and held * pressure <= max(packed * pressure, registers):
            return lanes
        lanes *= 2
    return None


def choose_tiling(
    rows: int, batch: int, length: int, packed: int, pressure: float, sms: int
) -> RowTiling:
    """The tile of a block, for `batch` times `rows` rows whose tiles cannot span a batch."""
    lanes = choose_lanes(length, packed, pressure) or _MOST
    while lanes < _MOST // 4 and batch * rows * lanes < sms * WARP and lanes * packed * 4 < length:
        lanes *= 2
    own = max(1, _THREADS // lanes)
    while own > 1 and (own >= 2 * rows or batch * -(-rows // own) < sms):
        own //= 2
    return RowTiling(own, length, max(lanes, WARP // own), packed)

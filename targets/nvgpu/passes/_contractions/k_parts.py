# SPDX-License-Identifier: Apache-2.0
"""The number of parts of K that blocks compute separately, by a static model of the time."""

from __future__ import annotations

from dataclasses import dataclass, replace

from xtc_targets.nvgpu.description import GpuDescription
from xtc_targets.nvgpu.passes._contractions.mma_tiling import (
    LINE,
    RESERVED,
    Sizes,
    Tiling,
    tiling_of,
)
from xtc_targets.nvgpu.passes._contractions.wgmma_loop import takes_rows
from xtc_targets.nvgpu.passes._loop_parts import MOST_PARTS
from xtc_targets.nvgpu.passes._pipelines.depth import MOST_SLOTS

_LATENCY_S = 1e-6
"""The time until bytes of global memory arrive, under load; see `IN_FLIGHT`."""

_PORT_BYTES = 5120 / 108
"""Bytes per SM and cycle from the second-level cache: 5120 for the 108 SMs of an A100 ("NVIDIA
A100 Tensor Core GPU Architecture", section on the L2 cache); used for other GPUs too (assumption).
"""

_LAUNCH_S = 3e-6
"""The time between the contraction and the end of an empty kernel after it (assumption)."""

_WORTH = 0.75
"""The fraction of the undivided time below which a division pays, given the model's errors."""

_SHORTEST = 4 * LINE
"""Minimum bytes of a part along K: a few tiles, so that a pipeline fills."""

_SUM_BYTES = 8
"""Bytes of an element of a partial sum that are written and read."""

_TYPES = {2: "float16", 4: "tfloat32"}


def k_parts(sizes: Sizes, machine: GpuDescription, *, bulk_copies: bool) -> int:
    """The number of equal parts of K that is fastest; 1 if dividing K does not pay."""
    model = _Model(machine, bulk_copies)
    whole = model.seconds(sizes, 1)
    if whole * _WORTH < _LAUNCH_S:
        return 1
    times = {parts: model.seconds(sizes, parts) for parts in _possible(sizes)}
    best = min(times, key=lambda parts: (times[parts], parts), default=1)
    return best if times and times[best] < _WORTH * whole else 1


def _possible(sizes: Sizes) -> list[int]:
    """The numbers of parts that divide K and keep rows aligned as they are."""
    most = min(MOST_PARTS, sizes.k * sizes.nbytes // _SHORTEST)
    whole = _alignment(sizes.k * sizes.nbytes)
    return [
        parts
        for parts in range(2, most + 1)
        if sizes.k % parts == 0 and _alignment(sizes.k // parts * sizes.nbytes) == whole
    ]


def _alignment(nbytes: int) -> int:
    return next(size for size in (16, 8, 4, 2, 1) if nbytes % size == 0)


@dataclass(frozen=True)
class _Model:
    """Lower bounds of a contraction's time: of tensor cores, shared memory, copies and memory."""

    machine: GpuDescription
    bulk_copies: bool

    def seconds(self, sizes: Sizes, parts: int) -> float:
        """The time of a contraction and of the sum of its parts."""
        machine = self.machine
        part = replace(sizes, k=sizes.k // parts, batch=sizes.batch * parts)
        tiling = tiling_of(part, machine.sms, machine.shared_bytes_sm, bulk_copies=self.bulk_copies)
        blocks = tiling.blocks(part.m, part.n) * part.batch
        rounds = -(-blocks // machine.sms)
        cycles = max(
            rounds * self._multiplication(tiling, part),
            rounds * self._bytes(tiling, part) / self._rate(tiling, part, rounds),
        )
        read = sizes.batch * (sizes.m + sizes.n) * sizes.k * sizes.nbytes
        memory = read / machine.memory_bytes_per_second
        found = max(cycles / machine.tensor_clock_hz, memory)
        return found if parts == 1 else found + self._sum(sizes, parts)

    def _sum(self, sizes: Sizes, parts: int) -> float:
        """The time of writing, reading and adding the parts, in the second-level cache."""
        nbytes = _SUM_BYTES * parts * sizes.batch * sizes.m * sizes.n
        machine = self.machine
        return _LAUNCH_S + nbytes / (_PORT_BYTES * machine.sms * machine.tensor_clock_hz)

    def _multiplication(self, tiling: Tiling, part: Sizes) -> float:
        """Cycles of the tensor cores for a block's tile, or of shared memory if these are more."""
        warps = (1, 1) if self._is_by_warpgroups(tiling) else tiling.warps
        read = tiling.m * warps[1] + tiling.n * warps[0]
        shared = (tiling.m + tiling.n + read) * part.nbytes / LINE
        macs = tiling.m * tiling.n / self.machine.tensor_macs[_TYPES[part.nbytes]]
        return part.k * max(shared, macs)

    def _bytes(self, tiling: Tiling, part: Sizes) -> int:
        """Bytes that a block reads; rows outside of an operand are not read."""
        return (min(tiling.m, part.m) + min(tiling.n, part.n)) * part.k * part.nbytes

    def _rate(self, tiling: Tiling, part: Sizes, rounds: int) -> float:
        """Bytes per cycle that arrive at an SM: those in flight in the time of the latency."""
        room, slots = self.machine.shared_bytes_sm, tiling.slots - 1
        if self._is_by_warpgroups(tiling):
            slots = min(MOST_SLOTS, self.machine.shared_bytes_block // tiling.slot_bytes)
        resident = min(rounds, max(1, room // (slots * tiling.slot_bytes + RESERVED)))
        tiles = -(-part.k * part.nbytes // tiling.k_bytes)
        in_flight = resident * min(slots, tiles) * tiling.copied_bytes(part)
        return min(_PORT_BYTES, in_flight / (_LATENCY_S * self.machine.tensor_clock_hz))

    def _is_by_warpgroups(self, tiling: Tiling) -> bool:
        return self.bulk_copies and takes_rows(tiling)

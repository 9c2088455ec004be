# SPDX-License-Identifier: Apache-2.0
"""The static model that ranks schedules if they cannot be measured.

The time of a block is the maximum of its data movement and its multiply-adds; blocks run in waves
on the multiprocessors. It is a lower bound for ranking candidates, never a time to report.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xtc.interfaces.tile_support import TileSupport
from xtc.ir.mlir import MemRefType, Operation, RankedTensorType
from xtc.tile.launch.host_numbers import Scalars

if TYPE_CHECKING:
    from xtc.tile.launch.compiled import Kernel

_TILE_LATENCY = 1e-6  # seconds per iteration that waits for memory; an assumption


@dataclass
class _Work:
    """The work of a block: bytes of global memory, multiply-adds by type, waits."""

    nbytes: float = 0
    seconds: float = 0
    waits: float = 0

    def add(self, other: _Work, times: float) -> None:
        self.nbytes += other.nbytes * times
        self.seconds += other.seconds * times
        self.waits += other.waits * times


def modelled_seconds(kernel: Kernel, values: Mapping[str, Any], support: TileSupport) -> float:
    """A lower bound of the kernel's time, from its data movement and arithmetic."""
    scalars = kernel.scalars(values, kernel.function)
    work = _block_work(kernel.function.regions[0].blocks[0], scalars, support)
    if kernel.is_divided:
        work.seconds /= support.rates.get("warpgroups", 1.0)
        work.waits = 0  # copies also run ahead from one tile to the next
    blocks = math.prod(kernel.grid(values, kernel.function))
    resident = max(1, min(32, support.max_warps * 2 // kernel.warps))
    if kernel.shared_bytes:
        resident = max(1, min(resident, support.shared_bytes // kernel.shared_bytes))
    waves = math.ceil(blocks / support.multiprocessors)
    share = support.rates["bytes_per_second"] / support.multiprocessors
    busy = max(work.nbytes / share, work.seconds * support.multiprocessors)
    return waves * (busy + work.waits * _TILE_LATENCY / min(resident, max(1, waves)))


def _block_work(block: Any, scalars: Scalars, support: TileSupport) -> _Work:
    total = _Work()
    for view in block.operations:
        op = view.operation
        if op.name == "scf.for":
            lower, upper, step = (scalars.number(value, 0) for value in list(op.operands)[:3])
            trips = max(0, math.ceil((upper - lower) / max(step, 1)))
            total.add(_block_work(op.regions[0].blocks[0], scalars, support), trips)
        elif op.regions:
            for region in op.regions:
                for inner in region.blocks:
                    total.add(_block_work(inner, scalars, support), 1)
        else:
            total.add(_operation_work(op, support), 1)
    return total


def _operation_work(op: Operation, support: TileSupport) -> _Work:
    if op.name == "tile.dot":
        (m, k), n = op.operands[0].type.shape, op.operands[1].type.shape[1]
        name = str(op.operands[0].type.element_type)
        rate = support.rates.get(name, support.rates["other"])
        return _Work(seconds=m * n * k / rate)
    if op.name in ("tile.load_global", "tile.store_global"):
        tile = op.results[0] if op.name == "tile.load_global" else op.operands[0]
        type = RankedTensorType(tile.type)
        return _Work(nbytes=math.prod(type.shape) * _bytes(type.element_type))
    if op.name == "tile.copy_async":
        memory = MemRefType(op.operands[1].type)
        return _Work(nbytes=math.prod(memory.shape) * _bytes(memory.element_type))
    return _Work(waits=1 if op.name in ("tile.wait_all", "tile.wait_group") else 0)


def _bytes(type: Any) -> int:
    return max(1, int(type.width) // 8)

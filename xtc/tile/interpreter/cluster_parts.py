# SPDX-License-Identifier: Apache-2.0
"""Blocks of a cluster in the interpreter: synchronization and remote accesses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import prod
from typing import Any

from xtc.core.errors import UserError
from xtc.ir.mlir import Operation
from xtc.tile.interpreter import mbarriers
from xtc.tile.interpreter.actors import Clock, Group
from xtc.tile.interpreter.asynchronous import Asynchronous
from xtc.tile.interpreter.events import BULK_LOAD, PLAIN, Event
from xtc.tile.interpreter.knowledge import all_of, time_of
from xtc.tile.interpreter.mbarriers import MBarrier
from xtc.tile.interpreter.shared import SharedMemory

_SYNC = "insert self.cluster.sync() "


@dataclass(eq=False)
class Cluster:
    """Blocks that run concurrently.

    Attributes:
        sizes: number of blocks in x, y and z.
        blocks: the blocks that have begun, by rank.
        came, generation: number of blocks at the barrier, and of completed barriers.
    """

    sizes: Sequence[int]
    clock: Clock = field(default_factory=Clock)
    blocks: dict[int, Any] = field(default_factory=dict)
    came: int = 0
    generation: int = 0

    @property
    def size(self) -> int:
        """The number of blocks."""
        return prod(self.sizes)

    def rank(self, position: Sequence[int]) -> int:
        """The rank of a block in its cluster."""
        x, y, z = (at % size for at, size in zip(position, self.sizes, strict=True))
        return x + self.sizes[0] * (y + self.sizes[1] * z)


class Clusters(Asynchronous):
    """A part of the interpreter of a block.

    Attributes:
        allocated: the shared memory or barriers that each operation has allocated.
        made_at: the time at which each of these barriers was allocated.
        others: accesses of other blocks to this one.
        ended: whether the block has ended.
    """

    cluster: Cluster
    rank: int
    allocated: dict[Operation, Any]
    made_at: dict[Operation, Event]
    others: list[Event]
    ended: bool

    def cluster_sync(self, op: Operation) -> None:
        cluster = self.cluster
        generation = cluster.generation
        cluster.came += 1
        if cluster.came == cluster.size:
            cluster.came = 0
            cluster.generation += 1
            parts = (block.actors.block.actors for block in cluster.blocks.values())
            Group((0, 0), tuple(chain.from_iterable(parts)), ()).sync()
        else:
            self.wait_until(
                lambda: cluster.generation != generation,
                lambda: f"waits at cluster.sync with {cluster.came} of {cluster.size} blocks",
                op,
            )

    def _ranks(self, mask: Any) -> Iterator[int]:
        if not 0 < int(mask) < 1 << self.cluster.size:
            raise UserError(
                f"the mask {int(mask):#b} in a cluster of {self.cluster.size} blocks",
                hints=["bit i of a mask stands for block i of the cluster"],
            )
        return (rank for rank in range(self.cluster.size) if int(mask) >> rank & 1)

    def _block(self, rank: int, made_by: Operation) -> Any:
        """Another block. Raises RaceError if it may have no barriers yet, or may have ended."""
        if rank == self.rank:
            return self
        block = self.cluster.blocks.get(rank)
        made = None if block is None else block.made_at.get(made_by)
        if block is None or made is None or self.actors.current.misses(made):
            raise self.launch.fail(
                "missing cluster sync",
                f"block {rank} of the cluster may not have allocated its mbarriers yet",
                self.launch.numbers[made_by],
                "",
                _SYNC + "after mbarrier.alloc, before blocks use each other's barriers",
            )
        if block.ended:
            raise self._has_ended(rank)
        block.others.append(self.event(self.launch.numbers[self.launch.current], PLAIN))
        return block

    def _has_ended(self, rank: int, other: Event | None = None) -> Any:
        return self.launch.fail(
            "missing cluster sync",
            f"block {rank} of the cluster may have ended, and others may use its shared memory",
            other,
            "",
            _SYNC + "at the end of the kernel",
        )

    def _barrier_in(self, block: Any, op: Operation, first: int) -> MBarrier:
        return mbarriers.chosen(block.allocated[self._maker(op, first)], self.get(op, first + 1))

    def _maker(self, op: Operation, operand: int) -> Operation:
        """The operation that allocates an operand, or the tensor of which it is a part."""
        found: Operation = op.operands[operand].owner.operation
        while found.name not in ("tile.mbarrier_alloc", "memref.alloc"):
            found = found.operands[0].owner.operation
        return found

    def cluster_arrive(self, op: Operation) -> None:
        mask, count, nbytes = (self.get(op, number) for number in (2, 3, 4))
        for rank in self._ranks(mask):
            block = self._block(rank, self._maker(op, 0))
            barrier = self._barrier_in(block, op, 0)
            barrier.expect(int(nbytes) * self.arriving(op))
            arrivals = int(count) * self.arriving(op)
            barrier.arrive(arrivals, self.actors.current, self.number(op))

    def tma_multicast(self, op: Operation) -> None:
        mine: SharedMemory = self.get(op, 1)
        touched = self.touched(op, self.get(op, 0), mine.shape)
        blocks = [self._block(rank, self._maker(op, 2)) for rank in self._ranks(self.get(op, 4))]
        barriers = [self._barrier_in(block, op, 2) for block in blocks]
        times = {barrier.column: barrier.ended for barrier in barriers}
        reads = self.event(self.number(op), BULK_LOAD, times=times)
        self.launch.global_checker.read(touched, reads, self.actors.current)
        for block, barrier in zip(blocks, barriers, strict=True):
            root: SharedMemory = block.allocated[self._maker(op, 1)]
            memory = SharedMemory(root.shadow, mine.positions)
            there = {barrier.column: barrier.ended}
            event = self.event(self.number(op), BULK_LOAD, times=there)
            self.bulk_copy(op, memory, touched.contents, event, block.checker, barrier)

    def leave_cluster(self) -> None:
        """Raise RaceError if other blocks may still use this one's shared memory."""
        self.ended = True
        passed = all_of(actor.known for actor in self.actors.block.actors).passed
        for other in self.others:
            if any(time_of(passed, other.clock, c) <= time for c, time in other.times.items()):
                raise self._has_ended(self.rank, other)


def positions_of(sizes: Sequence[int], grid: Sequence[int]) -> list[list[tuple[int, ...]]]:
    """The positions of the blocks of each cluster of a grid."""
    found: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for z in range(grid[2]):
        for y in range(grid[1]):
            for x in range(grid[0]):
                key = z // sizes[2], y // sizes[1], x // sizes[0]
                found.setdefault(key, []).append((x, y, z))
    return list(found.values())

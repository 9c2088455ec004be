# SPDX-License-Identifier: Apache-2.0
"""What runs beside threads: mbarriers, TMA copies and multiplications of warpgroups.

TMA loads write as an actor of their barrier, in the phase that counts them; stores and
multiplications read as an actor of their group of threads, whose time counts committed groups.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

from xtc.core.errors import UserError
from xtc.ir.builders.tile import codes_of, location_text, number_of
from xtc.ir.mlir import BlockArgument, Operation, RankedTensorType, StringAttr, Value
from xtc.tile.errors import KernelError
from xtc.tile.interpreter import mbarriers
from xtc.tile.interpreter.actors import Actor, Actors, Array
from xtc.tile.interpreter.block_part import BlockPart
from xtc.tile.interpreter.mbarriers import MBarrier
from xtc.tile.interpreter.memory import GlobalMemory
from xtc.tile.interpreter.report import RaceError
from xtc.tile.interpreter.shared import Checker, SharedMemory
from xtc.tile.interpreter.sums import multiplied

_WARPGROUP = 128  # threads
_SMALL_FLOATS = {"float8_e4m3": ml_dtypes.float8_e4m3fn, "float8_e5m2": ml_dtypes.float8_e5m2}


@dataclass(frozen=True)
class InFlight:
    """A tile that a multiplication writes, as an actor, in one of its groups."""

    array: Array
    actor: Actor
    group: int


@dataclass
class _Store:
    """A TMA store that has begun."""

    op: Operation
    memory: SharedMemory
    target: GlobalMemory
    positions: Array
    inside: Array
    group: int


@dataclass
class Beside:
    """What a group of threads has begun.

    Attributes:
        stores, store_groups: TMA stores in flight, and how many groups are closed.
        groups: closed groups of multiplications.
        fenced: whether registers are ordered before the next multiplication.
        unordered: operations that have made tiles since then.
        reads: what multiplications in flight read: memory, operation and group.
    """

    stores: list[_Store] = field(default_factory=list)
    store_groups: int = 0
    groups: int = 0
    fenced: bool = False
    unordered: set[Operation] = field(default_factory=set)
    reads: list[tuple[SharedMemory, int, int]] = field(default_factory=list)


class Asynchronous(BlockPart):
    """A part of the interpreter of a block."""

    launch: Any
    actors: Actors
    checker: Checker
    values: dict[Value, Any]
    begun_by: dict[int, Beside]
    barriers: list[MBarrier]
    allocated: dict[Operation, Any]
    made_at: dict[Operation, tuple[int, int]]

    @abstractmethod
    def tile_positions(
        self, op: Operation, memory: GlobalMemory, shape: Sequence[int]
    ) -> tuple[Array, Array]:
        """For each element of a tile its first byte, and whether it is inside of the tensor."""

    @property
    def _mine(self) -> Beside:
        return self.begun_by.setdefault(self.actors.current.number, Beside())

    def _beside(self, what: str) -> Actor:
        return self.actors.beside((what, self.actors.current.number))

    def _threads(self) -> int:
        threads = self.actors.current.threads
        assert threads is not None  # noqa: S101
        return threads[1]

    def in_group(self, op: Operation) -> None:
        self.set(op, True)

    # --- mbarriers -------------------------------------------------------------------------------

    def mbarrier_alloc(self, op: Operation) -> None:
        made = mbarriers.made(op, self.actors)
        self.barriers += made
        self.allocated[op] = made
        self.made_at[op] = self.actors.current.number, self.actors.now
        self.set(op, made)
        self.actors.sync()

    def _barrier(self, op: Operation, first: int = 0) -> MBarrier:
        return mbarriers.chosen(self.get(op, first), self.get(op, first + 1))

    def mbarrier_arrive(self, op: Operation) -> None:
        arrivals = int(self.get(op, 2)) * self._threads()
        self._barrier(op).arrive(arrivals, self.actors.released())

    def mbarrier_expect(self, op: Operation) -> None:
        barrier = self._barrier(op)
        barrier.nbytes += int(self.get(op, 2)) * self._threads()
        barrier.arrive(self._threads(), self.actors.released())

    def mbarrier_wait(self, op: Operation) -> None:
        barrier, parity = self._barrier(op), int(self.get(op, 2))
        if parity not in (0, 1):
            raise UserError(f"mbarrier.wait for the phase {parity}", notes=["a parity is 0 or 1"])
        self.wait_until(
            lambda: barrier.has_ended(parity),
            f"waits for a phase of parity {parity}",
            op,
        )
        self.actors.current.see(barrier.seen)
        self.checker.waited.add((self.actors.current.number, barrier.actor.number))

    def fence_proxy(self, op: Operation) -> None:
        if StringAttr(op.attributes["space"]).value == "shared":
            self.checker.fence()

    # --- TMA -------------------------------------------------------------------------------------

    def tma_load(self, op: Operation) -> None:
        source: GlobalMemory = self.get(op, 0)
        memory: SharedMemory = self.get(op, 1)
        barrier = self._barrier(op, 2)
        positions, inside = self.tile_positions(op, source, memory.shape)
        self.launch.global_checker.read(
            source.buffer, positions, inside, self.number(op), self.actors, None
        )
        value = source.gather(positions, inside)
        for _ in range(self._threads()):
            self.checker.bulk_copy(memory, self.number(op), value, barrier.actor, barrier.ended)
            barrier.brought(value.nbytes, op)
            self.launch.copied += value.nbytes

    def tma_store(self, op: Operation) -> None:
        memory: SharedMemory = self.get(op, 0)
        target: GlobalMemory = self.get(op, 1)
        positions, inside = self.tile_positions(op, target, memory.shape)
        mine = self._mine
        self.checker.read_beside(
            memory,
            self.number(op),
            "tma.shared_to_global",
            self._beside("store"),
            mine.store_groups,
        )
        self.launch.global_checker.write(
            target.buffer, positions, inside, self.number(op), self.actors, None
        )
        mine.stores.append(_Store(op, memory, target, positions, inside, mine.store_groups))

    def tma_commit(self, op: Operation) -> None:
        self._mine.store_groups += 1

    def tma_wait(self, op: Operation) -> None:
        mine = self._mine
        done = mine.store_groups - number_of(op, "n")
        for store in [store for store in mine.stores if store.group < done]:
            value = store.memory.shadow.values[store.memory.positions]
            store.target.scatter(store.positions, store.inside, value)
            mine.stores.remove(store)
        self.actors.current.see_until(self._beside("store").number, done)

    # --- multiplications -------------------------------------------------------------------------

    def landed(self, op: Operation) -> None:
        """Raise RaceError where an operation uses a tile that a multiplication still writes."""
        for operand in op.operands:
            value = self.values.get(operand)
            if not isinstance(value, InFlight):
                continue
            if self.actors.current.has_missed(value.actor.number, value.group):
                raise self.launch.fail(
                    "read before wait",
                    f"{op.name.partition('.')[2]} uses a tile that wgmma.mma still writes",
                    -1,
                    "of any",
                    "insert self.wgmma.commit_group() and self.wgmma.wait_group(0) before",
                )
            self.values[operand] = value.array

    def wgmma_fence(self, op: Operation) -> None:
        self._mine.fenced = True
        self._mine.unordered.clear()

    def made_for_wgmma(self, op: Operation) -> None:
        """An operation has written the registers that a multiplication will read."""
        self._mine.unordered.add(op)

    def wgmma(self, op: Operation) -> None:
        if self._threads() % _WARPGROUP:
            raise UserError(
                f"wgmma.mma by {self._threads()} threads",
                notes=[f"a multiple of {_WARPGROUP} take part"],
            )
        actor, mine = self._beside("wgmma"), self._mine
        a, b = (self._factor(op, number, actor, mine.groups) for number in (0, 1))
        c = self.get(op, 2)
        is_late = _maker(op.operands[0]) in mine.unordered
        if is_late or (not isinstance(c, InFlight) and not mine.fenced):
            raise self.launch.fail(
                "missing wgmma fence",
                f"wgmma.mma {'reads' if is_late else 'adds to'} registers that nothing orders "
                "before it",
                -1,
                "of any",
                "insert self.wgmma.fence() before the first wgmma.mma of a tile",
            )
        total = c.array if isinstance(c, InFlight) else c
        a, b = (_decoded(each, op) for each in (a, b))
        made = _added(a, b, total)
        self.set(op, InFlight(made, actor, mine.groups))

    def _factor(self, op: Operation, number: int, reader: Actor, group: int) -> Array:
        value = self.get(op, number)
        if isinstance(value, SharedMemory):
            self._mine.reads.append((value, self.number(op), group))
            return self.checker.read_beside(value, self.number(op), "wgmma.mma", reader, group)
        found: Array = value
        return found

    def wgmma_commit(self, op: Operation) -> None:
        self._mine.groups += 1

    def wgmma_wait(self, op: Operation) -> None:
        mine, reader = self._mine, self._beside("wgmma")
        mine.fenced = False
        done = mine.groups - number_of(op, "n")
        self.actors.current.see_until(reader.number, done)
        for memory, op_number, group in mine.reads:
            # A group belongs to a warpgroup ("PTX ISA", wgmma.commit_group): each of its threads
            # knows that it has read; of other warpgroups it knows when all have met.
            if group < done and self._threads() > _WARPGROUP:
                self.checker.read_by_threads(memory, op_number, reader, done)
        mine.reads = [read for read in mine.reads if read[2] >= done]

    # --- the end ---------------------------------------------------------------------------------

    def require_ended(self) -> None:
        """Raise KernelError where a copy may still use the memory of a block that has ended."""
        for beside in self.begun_by.values():
            for store in beside.stores:
                raise _unfinished(
                    store.op,
                    "a TMA store may still read shared memory when the block ends",
                    "insert self.tma.commit_group() and self.tma.wait_group(0)",
                )
        for barrier in self.barriers:
            if barrier.last_copy is None:
                continue
            phase, op = barrier.last_copy
            number = barrier.actor.number
            if all(group.has_missed(number, phase) for group in self.actors.groups):
                raise _unfinished(
                    op,
                    "a TMA copy may still write shared memory when the block ends",
                    "wait for its mbarrier",
                )


def multiplied_makers(ops: Sequence[Operation]) -> set[Operation]:
    """The operations that make the tiles that multiplications read from registers."""
    made = [_maker(op.operands[0]) for op in ops if op.name == "tile.wgmma"]
    return {op for op in made if op is not None}


def _maker(value: Value) -> Operation | None:
    """The operation that makes a tile, apart from a change of its layout."""
    if isinstance(value, BlockArgument) or not isinstance(value.type, RankedTensorType):
        return None
    op: Operation = value.owner.operation
    return _maker(op.operands[0]) if op.name == "tile.convert_layout" else op


def _unfinished(op: Operation, what: str, hint: str) -> KernelError:
    error = RaceError(what, where=location_text(op.location), hints=[hint])
    error.kind, error.second = "unfinished copy", location_text(op.location)
    return error


def _added(a: Array, b: Array, total: Array) -> Array:
    """`a @ b + total`; float16 is rounded by each instruction, of 32 bytes along K."""
    if total.dtype != np.float16:
        return multiplied(a, b, total)
    step = 32 // a.dtype.itemsize
    for first in range(0, a.shape[1], step):
        total = multiplied(a[:, first : first + step], b[first : first + step], total)
    return total


def _decoded(codes: Array, op: Operation) -> Array:
    """The numbers that an operand of a multiplication stands for."""
    name = codes_of(op)
    if name == "tfloat32":  # of which the lower bits are not read
        kept: Array = (codes.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
        return kept
    if name in ("int8", "uint8"):
        return codes.view(name)
    return codes.view(_SMALL_FLOATS[name]) if name else codes

# SPDX-License-Identifier: Apache-2.0
"""Asynchronous operations: mbarriers, TMA copies and multiplications of warpgroups.

A TMA load is complete when the phase that counts its bytes is. Copies, stores and
multiplications are complete when each of the threads that began them has waited for its part.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from xtc.core.errors import UserError
from xtc.ir.attributes import TF32
from xtc.ir.builders.operand_codes import codes_of
from xtc.ir.builders.tile import BY_WARPS, location_text, number_of
from xtc.ir.mlir import BlockArgument, BoolAttr, Operation, RankedTensorType, StringAttr, Value
from xtc.tile.interpreter import mbarriers
from xtc.tile.interpreter.actors import GLOBAL, SHARED, WARP, Actors
from xtc.tile.interpreter.beside import Beside, Copy, Store, land
from xtc.tile.interpreter.block_part import BlockPart
from xtc.tile.interpreter.elements import Array
from xtc.tile.interpreter.events import BULK_LOAD, BULK_STORE, COPY, MULTIPLY, Event
from xtc.tile.interpreter.knowledge import ALWAYS, passed_only, time_of
from xtc.tile.interpreter.mbarriers import MBarrier
from xtc.tile.interpreter.memory import GlobalMemory, Touched
from xtc.tile.interpreter.report import RaceError
from xtc.tile.interpreter.shared import Checker, SharedMemory
from xtc.tile.interpreter.sums import multiplied, rounded_to_tf32
from xtc.tile.values.errors import KernelError

_WARPGROUP = 128  # threads
_SMALL_FLOATS = {"float8_e4m3": ml_dtypes.float8_e4m3fn, "float8_e5m2": ml_dtypes.float8_e5m2}


@dataclass(frozen=True)
class InFlight:
    """A tile that a multiplication writes."""

    array: Array
    event: Event


class Asynchronous(BlockPart):
    """A part of the interpreter of a block."""

    launch: Any
    actors: Actors
    checker: Checker
    values: dict[Value, Any]
    barriers: list[MBarrier]
    allocated: dict[Operation, Any]
    made_at: dict[Operation, Event]
    position: tuple[int, ...]

    @abstractmethod
    def tile_positions(
        self, op: Operation, memory: GlobalMemory, shape: Sequence[int]
    ) -> tuple[Array, Array]:
        """The byte offset of each element of a tile, and whether it is in bounds."""

    def touched(self, op: Operation, memory: GlobalMemory, shape: Sequence[int]) -> Touched:
        """The elements of a tile of global memory."""
        return Touched(memory, *self.tile_positions(op, memory, shape))

    def event(
        self, op: int, kind: int, *, held: Any = None, times: dict[int, int] | None = None
    ) -> Event:
        """An access by the active threads, complete now or at `times`."""
        group, clock = self.actors.current, self.actors.clock
        if times is None:
            times = dict.fromkeys(group.columns, clock.now)
        return Event(op, kind, clock.number, times, held, group.threads, group.position)

    def _beside(self) -> list[Beside]:
        """The asynchronous operations of the active threads."""
        return [actor.beside for actor in self.actors.current.actors]

    def _flying(self) -> dict[int, int]:
        """The times of an access that each of the active threads begins a part of."""
        return dict.fromkeys(self.actors.current.columns, ALWAYS)

    def _threads(self) -> int:
        return self.actors.current.threads[1]

    def in_group(self, op: Operation) -> None:
        self.set(op, True)

    # --- copies by threads -----------------------------------------------------------------------

    def copy_async(self, op: Operation) -> None:
        memory: SharedMemory = self.get(op, 1)
        touched = self.touched(op, self.get(op, 0), memory.shape)
        if not BoolAttr(op.attributes["check_bounds"]).value and not touched.inside.all():
            raise UserError(
                "copy_async with check_bounds=False reads outside of the global tensor",
                notes=[touched.outside, f"in block {self.position}"],
                hints=["leave check_bounds=True if a tile may extend beyond the end"],
            )
        event = self.event(self.number(op), COPY, times=self._flying())
        self.launch.global_checker.read(touched, event, self.actors.current)
        self.checker.begin_write(memory, event, "copy_async")
        copy = Copy(event, memory, touched)
        for beside in self._beside():
            beside.copies.begin(copy)
        self.launch.copied += int(touched.inside.sum()) * touched.memory.dtype.itemsize

    def commit_group(self, op: Operation) -> None:
        for beside in self._beside():
            beside.copies.commit()

    def wait_group(self, op: Operation) -> None:
        self._wait_for_copies(number_of(op, "n"))

    def wait_all(self, op: Operation) -> None:
        self._wait_for_copies(-1)

    def _wait_for_copies(self, groups: int) -> None:
        for actor in self.actors.current.actors:
            for copy in actor.beside.copies.finished(groups):
                land(copy.event, actor)
                if not copy.event.is_flying:
                    copy.memory.put(copy.touched.contents)

    # --- mbarriers -------------------------------------------------------------------------------

    def mbarrier_alloc(self, op: Operation) -> None:
        made = mbarriers.made(op, self.actors.current, self._phase_error)
        self.barriers += made
        self.allocated[op] = made
        self.made_at[op] = self.event(self.number(op), COPY)
        self.set(op, made)
        self.actors.current.sync()

    def _phase_error(self, kind: str, what: str, other: Event, hint: str) -> RaceError:
        found: RaceError = self.launch.fail(kind, what, other, "", hint)
        return found

    def _barrier(self, op: Operation, first: int = 0) -> MBarrier:
        return mbarriers.chosen(self.get(op, first), self.get(op, first + 1))

    def mbarrier_arrive(self, op: Operation) -> None:
        arrivals = int(self.get(op, 2)) * self.arriving(op)
        self._barrier(op).arrive(arrivals, self.actors.current, self.number(op))

    def arriving(self, op: Operation) -> int:
        """How many threads arrive at a barrier."""
        return self._threads() // (WARP if BY_WARPS in op.attributes else 1)

    def mbarrier_expect(self, op: Operation) -> None:
        barrier = self._barrier(op)
        barrier.expect(int(self.get(op, 2)) * self._threads())
        barrier.arrive(self._threads(), self.actors.current, self.number(op))

    def mbarrier_wait(self, op: Operation) -> None:
        barrier, parity = self._barrier(op), int(self.get(op, 2))
        if parity not in (0, 1):
            raise UserError(
                f"mbarrier.wait for the phase {parity}",
                notes=["a parity is 0 or 1"],
                hints=["toggle it by phase ^ 1, or take the number of the iteration modulo 2"],
            )
        self.wait_until(
            lambda: barrier.has_ended(parity),
            lambda: f"waits for a phase of parity {parity}; {barrier.lacks}",
            op,
        )
        barrier.waited(parity, self.actors.current, self.number(op))

    def fence_proxy(self, op: Operation) -> None:
        is_shared = StringAttr(op.attributes["space"]).value == "shared"
        self.actors.current.fence(SHARED if is_shared else GLOBAL)

    # --- TMA -------------------------------------------------------------------------------------

    def tma_load(self, op: Operation) -> None:
        memory: SharedMemory = self.get(op, 1)
        barrier = self._barrier(op, 2)
        touched = self.touched(op, self.get(op, 0), memory.shape)
        for _ in range(self._threads()):
            event = self.event(self.number(op), BULK_LOAD, times={barrier.column: barrier.ended})
            self.launch.global_checker.read(touched, event, self.actors.current)
            self.bulk_copy(op, memory, touched.contents, event, self.checker, barrier)

    def bulk_copy(
        self,
        op: Operation,
        memory: SharedMemory,
        value: Array,
        event: Event,
        checker: Checker,
        barrier: MBarrier,
    ) -> None:
        """Perform a bulk copy of a tile to a block's shared memory, and count its bytes at the
        barrier."""
        checker.begin_write(memory, event, "tma.global_to_shared")
        memory.put(rounded_to_tf32(value) if TF32 in op.attributes else value)
        barrier.brought(value.nbytes, op, self.actors.current)
        self.launch.copied += value.nbytes

    def tma_store(self, op: Operation) -> None:
        memory: SharedMemory = self.get(op, 0)
        touched = self.touched(op, self.get(op, 1), memory.shape)
        reads = self.event(self.number(op), BULK_STORE, times=self._flying())
        writes = self.event(self.number(op), BULK_STORE, times=self._flying())
        self.checker.read_beside(memory, reads, "tma.shared_to_global")
        self.launch.global_checker.write(touched, writes, self.actors.current)
        store = Store(op, memory, touched, reads, writes)
        for beside in self._beside():
            beside.stores.begin(store)

    def tma_commit(self, op: Operation) -> None:
        for beside in self._beside():
            beside.stores.commit()

    def tma_wait(self, op: Operation) -> None:
        groups, only_read = number_of(op, "n"), BoolAttr(op.attributes["read"]).value
        for actor in self.actors.current.actors:
            for store in actor.beside.stores.finished(groups, keep=only_read):
                store.note_read()
                land(store.reads, actor)
                if not only_read:
                    land(store.writes, actor)
                    store.write()

    # --- multiplications -------------------------------------------------------------------------

    def landed(self, op: Operation) -> None:
        """Raise RaceError if an operation uses a tile that a multiplication still writes."""
        for operand in op.operands:
            value = self.values.get(operand)
            if not isinstance(value, InFlight):
                continue
            columns = self.actors.current.columns
            if any(value.event.times.get(column) == ALWAYS for column in columns):
                raise self.launch.fail(
                    "read before wait",
                    f"{op.name.partition('.')[2]} uses a tile that wgmma.mma still writes",
                    value.event,
                    _whole(value.array),
                    "insert self.wgmma.commit_group() and self.wgmma.wait_group(0) before",
                )
            self.values[operand] = value.array

    def wgmma_fence(self, op: Operation) -> None:
        for beside in self._beside():
            beside.fenced = True
            beside.unordered.clear()

    def made_for_wgmma(self, op: Operation) -> None:
        """Record an operation that writes registers that a multiplication will read."""
        for beside in self._beside():
            beside.unordered.add(op)

    def wgmma(self, op: Operation) -> None:
        if self._threads() % _WARPGROUP:
            raise UserError(
                f"wgmma.mma by {self._threads()} threads",
                notes=[f"a multiple of {_WARPGROUP} must take part"],
                hints=["call it in thread_group(begin, 128), whose begin is a multiple of 128"],
            )
        event = self.event(self.number(op), MULTIPLY, times=self._flying())
        a, b = (self._operand(op, number, event) for number in (0, 1))
        c = self.get(op, 2)
        self._require_fence(op, c)
        total = c.array if isinstance(c, InFlight) else c
        made = _added(_decoded(a, op), _decoded(b, op), total)
        self.set(op, InFlight(made, event))
        if self._threads() == _WARPGROUP:
            event.before = passed_only(self.actors.current.released_by_all())
        for beside in self._beside():
            beside.multiplications.begin(event)

    def _operand(self, op: Operation, number: int, event: Event) -> Array:
        value = self.get(op, number)
        if isinstance(value, SharedMemory):
            return self.checker.read_beside(value, event, "wgmma.mma")
        found: Array = value
        return found

    def _require_fence(self, op: Operation, sums: Any) -> None:
        made_by = _made_by(op.operands[0])
        is_late = any(made_by in beside.unordered for beside in self._beside())
        fenced = all(beside.fenced for beside in self._beside())
        if is_late or (not isinstance(sums, InFlight) and not fenced):
            raise self.launch.fail(
                "missing wgmma fence",
                f"wgmma.mma {'reads' if is_late else 'adds to'} registers that nothing orders "
                "before it",
                self.number(made_by) if is_late and made_by is not None else None,
                _whole(self.get(op, 0) if is_late else sums),
                "insert self.wgmma.fence() before the first wgmma.mma of a tile",
            )

    def wgmma_commit(self, op: Operation) -> None:
        for beside in self._beside():
            beside.multiplications.commit()

    def wgmma_wait(self, op: Operation) -> None:
        # A group belongs to a warpgroup ("PTX ISA", wgmma.commit_group) and is complete when all of
        # its multiplications are. Each of its threads knows that, but no stores become visible.
        # Threads of several warpgroups know it for their own parts.
        for actor in self.actors.current.actors:
            actor.beside.fenced = False
            for event in actor.beside.multiplications.finished(number_of(op, "n")):
                land(event, actor)
                if event.before is not None:
                    actor.learn(event.before)
                    event.is_joint = not event.is_flying

    # --- the end ---------------------------------------------------------------------------------

    def require_ended(self) -> None:
        """Raise KernelError if a copy may still use the memory of a block that has ended."""
        for actor in self.actors.block.actors:
            for store in actor.beside.stores.finished(-1):
                if store.reads.is_flying:
                    raise _unfinished(
                        store.op,
                        "a TMA store may still read shared memory when the block ends",
                        "insert self.tma.commit_group() and self.tma.wait_group(0)",
                    )
                store.write()
        for barrier in self.barriers:
            if barrier.last_copy is None:
                continue
            phase, op = barrier.last_copy
            clock, column = barrier.clock.number, barrier.column
            known = (time_of(a.known.seen, clock, column) for a in self.actors.block.actors)
            if max(known) <= phase:
                raise _unfinished(
                    op,
                    "a TMA copy may still write shared memory when the block ends",
                    "wait for its mbarrier",
                )


def multiplied_makers(ops: Sequence[Operation]) -> set[Operation]:
    """The producers of tiles that multiplications read from registers."""
    made = [_made_by(op.operands[0]) for op in ops if op.name == "tile.wgmma"]
    return {op for op in made if op is not None}


def _made_by(value: Value) -> Operation | None:
    """The producer of a tile, apart from layout conversions."""
    if isinstance(value, BlockArgument) or not isinstance(value.type, RankedTensorType):
        return None
    op: Operation = value.owner.operation
    return _made_by(op.operands[0]) if op.name == "tile.convert_layout" else op


def _whole(tile: Any) -> str:
    """All elements of a tile, as slices."""
    shape = tile.array.shape if isinstance(tile, InFlight) else np.shape(tile)
    return f"[{', '.join(f'0:{size}' for size in shape)}]"


def _unfinished(op: Operation, what: str, hint: str) -> KernelError:
    error = RaceError(what, where=location_text(op.location), hints=[hint])
    error.kind, error.second = "unfinished copy", location_text(op.location)
    return error


def _added(a: Array, b: Array, total: Array) -> Array:
    """`a @ b + total`; each instruction, 32 bytes along K, rounds float16."""
    if total.dtype != np.float16:
        return multiplied(a, b, total)
    step = 32 // a.dtype.itemsize
    for first in range(0, a.shape[1], step):
        total = multiplied(a[:, first : first + step], b[first : first + step], total)
    return total


def _decoded(codes: Array, op: Operation) -> Array:
    """The numeric values of an operand of a multiplication."""
    name = codes_of(op)
    if name == "tfloat32":  # the lower bits are not read
        kept: Array = (codes.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
        return kept
    if name in ("int8", "uint8"):
        return codes.view(name)
    return codes.view(_SMALL_FLOATS[name]) if name else codes

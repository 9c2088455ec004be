# SPDX-License-Identifier: Apache-2.0
"""The interpreter: one block after another, a block's threads as one, on NumPy arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from xtc.core.errors import UserError, XtcError
from xtc.ir.attributes import WARPS
from xtc.ir.builders.tile import (
    cluster_of,
    dims_of,
    group_entered,
    location_text,
    number_of,
)
from xtc.ir.mlir import (
    BoolAttr,
    Operation,
    RankedTensorType,
    ShapedType,
    Value,
    all_operations,
)
from xtc.ir.tile_dialect import layout_of
from xtc.tile.errors import KernelError
from xtc.tile.groups import WARP
from xtc.tile.interpreter.actors import Actors, meet
from xtc.tile.interpreter.asynchronous import Beside, multiplied_makers
from xtc.tile.interpreter.cluster_parts import Cluster, Clusters, positions_of
from xtc.tile.interpreter.coroutines import Task, Tasks
from xtc.tile.interpreter.exchange import Exchange
from xtc.tile.interpreter.mbarriers import MBarrier
from xtc.tile.interpreter.memory import Buffer, GlobalChecker, GlobalMemory
from xtc.tile.interpreter.report import DeadlockError, RaceError, Report, race
from xtc.tile.interpreter.shared import Array, Checker, Freed, SharedMemory, elements
from xtc.tile.interpreter.values import compute, is_computed
from xtc.tile.interpreter.views import Views
from xtc.tile.interpreter.whole_tiles import WholeTiles

_UNKNOWN = ShapedType.get_dynamic_size()
_MOST_STEPS = 1 << 24  # operations of a block
_RESIDENT_BLOCKS = 256  # that run at once where blocks wait for each other


def interpret(kernel: Operation, arguments: Sequence[Any], grid: Sequence[int]) -> Report:
    """Run a kernel in the dialect `tile` on arrays and numbers.

    Raises RaceError for the first race, and UserError for arrays that it cannot use.
    """
    whole = _Launch(kernel, arguments)
    clusters = positions_of(cluster_of(kernel), grid)
    if any(op.name == "tile.lock" for op in whole.ops):
        whole.run_together(clusters, grid)
    else:
        for positions in clusters:
            if whole.has_groups or len(positions) > 1:
                whole.run_together([positions], grid)
            else:
                whole.run_block(positions[0], grid, Cluster((1, 1, 1)))
    whole.require_clean()
    return whole.report()


@dataclass
class _Copy:
    """An asynchronous copy in flight."""

    number: int
    op: Operation
    memory: SharedMemory
    source: GlobalMemory
    positions: Array
    inside: Array
    group: int


class _Launch:
    """A grid of blocks."""

    def __init__(self, kernel: Operation, arguments: Sequence[Any]) -> None:
        self.kernel = kernel
        self.ops = all_operations(kernel)
        self.numbers = {op: number for number, op in enumerate(self.ops)}
        self.block_of = kernel.regions[0].blocks[0]
        self.arguments = dict(zip(self.block_of.arguments, map(_argument, arguments), strict=True))
        self.counts: Counter[str] = Counter()
        self.copied = self.blocks = 0
        atomics = frozenset(n for op, n in self.numbers.items() if op.name == "tile.atomic")
        self.global_checker = GlobalChecker(self.fail, atomics)
        self.tasks = Tasks()
        self.has_groups = any(op.name == "tile.in_group" for op in self.ops)
        self.multiplied = multiplied_makers(self.ops)
        self.threads = number_of(kernel, WARPS) * WARP
        self.semaphores: dict[tuple[int, int], dict[int, int]] = {}
        self.current = kernel
        self.position: tuple[int, ...] = ()

    def report(self) -> Report:
        counts = {name: count for name, count in self.counts.items() if name.startswith("tile.")}
        short = {name.removeprefix("tile."): count for name, count in counts.items()}
        return Report(self.blocks, short, self.copied)

    def fail(self, kind: str, what: str, other: int, where: str, hint: str) -> RaceError:
        first = "" if other < 0 else location_text(self.ops[other].location)
        here = location_text(self.current.location)
        return race(kind, what, here, first, where, hint, self.position)

    def run_block(self, position: tuple[int, ...], grid: Sequence[int], cluster: Cluster) -> None:
        block = _Block(self, position, grid, self.blocks, cluster)
        self.blocks += 1
        block.activate()
        block.run()

    def run_together(
        self, clusters: Sequence[Sequence[tuple[int, ...]]], grid: Sequence[int]
    ) -> None:
        """Run blocks that wait for each other, as many at once as a small machine could hold."""
        self.tasks = Tasks()
        for positions in clusters:
            cluster = Cluster(cluster_of(self.kernel))
            for position in positions:
                self.tasks.add(partial(self.run_block, position, grid, cluster))
        self.tasks.run(self._deadlock, _RESIDENT_BLOCKS)

    def _deadlock(self, tasks: Sequence[Task]) -> DeadlockError:
        inner = sorted(tasks, key=lambda task: not task.is_part)
        lines = [f"at {task.where}: {task.waits_for}" for task in inner]
        who = "group of threads" if inner[0].is_part else "block"
        return DeadlockError(
            f"every {who} waits, and none will go on", where=inner[0].where, notes=lines[:8]
        )

    def require_clean(self) -> None:
        """Raise UserError where memory that must be 0 when the kernel ends is not."""
        for op in self.ops:
            if op.name != "tile.buffer" or not BoolAttr(op.attributes["clean"]).value:
                continue
            left = self.arguments[op.operands[0]].raw
            if left.any():
                raise KernelError(
                    "a global_tensor with requires_clean=True is not 0 when the kernel ends",
                    where=location_text(op.location),
                    notes=[f"byte {int(np.argmax(left != 0))} of {left.size} is the first"],
                    hints=["reset it, as release_semaphore(..., value=0) of the last block does"],
                )


def _argument(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return Buffer.over(value)
    if isinstance(value, np.generic):
        return value
    raise UserError(f"the interpreter takes NumPy arrays, not {value!r}")


class _Block(Exchange, Clusters, WholeTiles, Views):
    """One block, or the part of it that a group of threads runs."""

    def __init__(
        self,
        launch: _Launch,
        position: tuple[int, ...],
        grid: Sequence[int],
        number: int,
        cluster: Cluster,
    ) -> None:
        self.cluster, self.rank = cluster, cluster.rank(position)
        cluster.blocks[self.rank] = self
        self.allocated: dict[Operation, Any] = {}
        self.made_at: dict[Operation, tuple[int, int]] = {}
        self.others: list[tuple[int, int, int]] = []
        self.ended = False
        self.launch, self.position, self.grid, self.block_number = launch, position, grid, number
        self.known: dict[int, int] = {}
        self.values: dict[Value, Any] = dict(launch.arguments)
        self.actors = Actors(launch.threads, self.rank * launch.threads, cluster.clock)
        self.actor = self.actors.block
        self.checker = Checker(launch.fail, self.actors)
        self.begun_by: dict[int, Beside] = {}
        self.barriers: list[MBarrier] = []
        self.parts: list[tuple[tuple[int, int], Task]] = []
        self.copies: list[_Copy] = []
        self.group = self.begun = self.steps = 0
        self.freed: list[Freed] = []
        self.alive: dict[Operation, SharedMemory] = {}

    def run(self) -> None:
        self.sequence(self.launch.block_of)
        self.join((0, self.launch.threads))
        self.require_ended()
        self.leave_cluster()

    def activate(self) -> None:
        """These threads run now, and no others."""
        self.actors.current = self.actor
        self.launch.position = self.position
        self.launch.global_checker.block = self.block_number
        self.launch.global_checker.known = self.known

    def wait_until(self, ready: Callable[[], bool], waits_for: str, op: Operation) -> None:
        """Let others run until a condition holds."""
        begin, size = self.actor.threads or (0, 0)
        begin -= self.actors.first
        who = f"block {self.position}"
        if size != self.launch.threads:
            who = f"threads {begin} to {begin + size} of {who}"
        where = location_text(op.location)
        self.launch.tasks.wait(ready, f"{who}: {waits_for}", where)
        self.activate()
        self.launch.current = op

    def join(self, threads: tuple[int, int]) -> None:
        """Wait until no group that has some of these threads runs beside this code."""
        for part in [part for part in self.parts if meet(part[0], threads)]:
            begin, size = part[0]
            self.wait_until(
                lambda part=part: part[1].ended,  # type: ignore[misc]
                f"waits for its threads {begin} to {begin + size}",
                self.launch.current,
            )
            self.parts.remove(part)

    def enter(self, threads: tuple[int, int], block: Any) -> None:
        """Let a group run: beside others, if the whole block comes to it."""
        self.join(threads)
        part = copy(self)
        part.actor = self.actors.enter(threads, self.actor)
        if self.actor is not self.actors.block:
            part.activate()
            part.sequence(block)
            self.activate()
            return
        part.values, part.parts, part.copies = dict(self.values), [], []
        part.group = part.steps = 0

        def run() -> None:
            part.activate()
            part.sequence(block)

        self.parts.append((threads, self.launch.tasks.add(run, is_part=True)))

    def sequence(self, block: Any) -> list[Any]:
        """Run a block of operations; the operands of its end."""
        for op in _operations(block):
            self.launch.current = op
            self.steps += 1
            if self.steps > _MOST_STEPS:
                raise UserError(
                    "a block has run 16 million operations and has not ended",
                    where=location_text(op.location),
                )
            if op.name in ("scf.yield", "scf.condition", "func.return"):
                return [self.values[value] for value in op.operands]
            self.operation(op)
        return []

    def operation(self, op: Operation) -> None:
        """Run an operation."""
        if op.name not in _CARRIED:
            self.landed(op)
        if is_computed(op):
            self.set(op, compute(op, [self.values[value] for value in op.operands]))
            return
        if op.name not in _OPERATIONS:
            raise UserError(f"the interpreter has no {op.name}", where=location_text(op.location))
        self.launch.counts[op.name] += 1
        if self.parts and op.name not in _BESIDE:
            self.join((0, self.launch.threads))
        try:
            _OPERATIONS[op.name](self, op)
        except KernelError:
            raise
        except XtcError as error:
            where = error.where or location_text(op.location)
            raise KernelError(
                error.what, where=where, notes=error.notes, hints=error.hints
            ) from None

    def set(self, op: Operation, value: Any) -> None:
        """Give an operation's result its value."""
        self.values[op.results[0]] = value
        if op in self.launch.multiplied:
            self.made_for_wgmma(op)

    def get(self, op: Operation, number: int) -> Any:
        """The value of an operand."""
        return self.values[op.operands[number]]

    def number(self, op: Operation) -> int:
        """The number of an operation in the kernel."""
        found: int = self.launch.numbers[op]
        return found

    # --- control flow --------------------------------------------------------------------------

    def for_loop(self, op: Operation) -> None:
        lower, upper, step = (self.values[value] for value in list(op.operands)[:3])
        carried = [self.values[value] for value in list(op.operands)[3:]]
        body = op.regions[0].blocks[0]
        if step <= 0:
            raise UserError(f"a loop has the step {step}")
        for number in range(int(lower), int(upper), int(step)):
            arguments = [np.asarray(number, np.asarray(lower).dtype)[()], *carried]
            self.values.update(zip(body.arguments, arguments, strict=True))
            carried = self.sequence(body)
        self.values.update(zip(op.results, carried, strict=True))

    def while_loop(self, op: Operation) -> None:
        before, after = (region.blocks[0] for region in op.regions)
        carried = [self.values[value] for value in op.operands]
        while True:
            self.values.update(zip(before.arguments, carried, strict=True))
            goes_on, *carried = self.sequence(before)
            if not goes_on:
                break
            self.values.update(zip(after.arguments, carried, strict=True))
            carried = self.sequence(after)
        self.values.update(zip(op.results, carried, strict=True))

    def branch(self, op: Operation) -> None:
        threads = group_entered(op)
        if threads is not None:
            self.enter(threads, op.regions[0].blocks[0])
            return
        region = op.regions[0 if self.get(op, 0) else 1]
        results = self.sequence(region.blocks[0]) if region.blocks else []
        self.values.update(zip(op.results, results, strict=True))

    # --- memory ----------------------------------------------------------------------------------

    def tile_positions(
        self, op: Operation, memory: GlobalMemory, shape: Sequence[int]
    ) -> tuple[Array, Array]:
        offsets = [int(self.values[v]) for v in list(op.operands)[-len(memory.sizes) :]]
        return memory.positions(offsets, dims_of(op), shape)

    def load_global(self, op: Operation) -> None:
        memory: GlobalMemory = self.get(op, 0)
        shape = RankedTensorType(op.results[0].type).shape
        positions, inside = self.tile_positions(op, memory, shape)
        held = (
            str(layout_of(op.results[0])),
            *(int(self.values[v]) for v in list(op.operands)[1:]),
        )
        self.launch.global_checker.read(
            memory.buffer, positions, inside, self.number(op), self.actors, held
        )
        self.set(op, memory.gather(positions, inside))

    def store_global(self, op: Operation) -> None:
        memory: GlobalMemory = self.get(op, 1)
        value = self.get(op, 0)
        positions, inside = self.tile_positions(op, memory, value.shape)
        held = (
            str(layout_of(op.operands[0])),
            *(int(self.values[v]) for v in list(op.operands)[2:]),
        )
        self.launch.global_checker.write(
            memory.buffer, positions, inside, self.number(op), self.actors, held
        )
        memory.scatter(positions, inside, value)

    def load_shared(self, op: Operation) -> None:
        self.set(op, self.checker.read(self.get(op, 0), self.number(op)))

    def store_shared(self, op: Operation) -> None:
        self.checker.write(self.get(op, 1), self.number(op), self.get(op, 0))

    def copy_async(self, op: Operation) -> None:
        memory: SharedMemory = self.get(op, 1)
        source: GlobalMemory = self.get(op, 0)
        positions, inside = self.tile_positions(op, source, memory.shape)
        if not BoolAttr(op.attributes["check_bounds"]).value and not inside.all():
            raise UserError(
                "copy_async with check_bounds=False reads outside of the global tensor",
                notes=[f"elements {elements(~inside)} of the tile", f"in block {self.position}"],
                hints=["leave check_bounds=True where a tile may reach over the end"],
            )
        self.launch.global_checker.read(
            source.buffer, positions, inside, self.number(op), self.actors, None
        )
        self.checker.begin_copy(memory, self.number(op), self.begun)
        self.copies.append(_Copy(self.begun, op, memory, source, positions, inside, self.group))
        self.begun += 1
        self.launch.copied += int(inside.sum()) * source.dtype.itemsize

    def commit_group(self, op: Operation) -> None:
        self.group += 1

    def wait_group(self, op: Operation) -> None:
        self._finish(self.group - number_of(op, "n"))

    def wait_all(self, op: Operation) -> None:
        self._finish(self.group + 1)

    def _finish(self, group: int) -> None:
        for flying in [held for held in self.copies if held.group < group]:
            value = flying.source.gather(flying.positions, flying.inside)
            self.checker.end_copy(flying.memory, self.number(flying.op), value)
            self.copies.remove(flying)

    def sync(self, op: Operation) -> None:
        self.actors.sync()

    def block_id(self, op: Operation) -> None:
        self.set(op, np.int32(self.position[number_of(op, "dim")]))

    def grid_dim(self, op: Operation) -> None:
        self.set(op, np.int32(self.grid[number_of(op, "dim")]))

    def nothing(self, op: Operation) -> None:
        """What is for the compiler."""

    def inside(self, op: Operation) -> None:
        """Of whole tiles, of which the outside is dropped."""
        self.set(op, True)

    def assume(self, op: Operation) -> None:
        if not self.get(op, 0):
            raise UserError("what the kernel assumes does not hold")


_CARRIED = ("scf.for", "scf.while", "tile.wgmma")
"""Operations that hand on, or add to, a tile that a multiplication still writes."""

_BESIDE = (
    *("scf.for", "scf.while", "scf.if", "tile.in_group", "tile.block_id", "tile.grid_dim"),
    *("memref.reinterpret_cast", "memref.subview", "memref.transpose", "memref.cast"),
    *("tile.grid", "tile.assume"),
)
"""Operations with which the code around groups of threads goes on while they run."""


def _operations(block: Any) -> list[Operation]:
    return [view.operation for view in block.operations]


_OPERATIONS: Mapping[str, Callable[[_Block, Operation], None]] = MappingProxyType(
    {
        "scf.for": _Block.for_loop,
        "scf.while": _Block.while_loop,
        "scf.if": _Block.branch,
        "memref.reinterpret_cast": _Block.reinterpret,
        "builtin.unrealized_conversion_cast": _Block.retyped,
        "memref.alloc": _Block.alloc,
        "memref.dealloc": _Block.dealloc,
        "memref.subview": _Block.part,
        "memref.transpose": _Block.permuted,
        "memref.cast": _Block.retyped,
        "tile.grid": _Block.nothing,
        "tile.set_registers": _Block.nothing,
        "tile.assume": _Block.assume,
        "tile.convert_layout": _Block.same,
        "tile.annotate_layout": _Block.same,
        **{
            f"tile.{name}": getattr(_Block, name)
            for name in (
                *("load_global", "store_global", "load_shared", "store_shared", "copy_async"),
                *("commit_group", "wait_group", "wait_all", "sync", "dot", "indices", "reduce"),
                *("broadcast", "transpose", "reshape", "item", "block_id", "grid_dim"),
                *("in_group", "mbarrier_alloc", "mbarrier_arrive", "mbarrier_expect"),
                *("mbarrier_wait", "fence_proxy", "tma_load", "tma_store", "tma_commit"),
                *("cluster_sync", "cluster_arrive", "tma_multicast"),
                *("tma_wait", "wgmma", "wgmma_fence", "wgmma_commit", "wgmma_wait"),
                *(
                    "inside",
                    "scan",
                    "view",
                    "atomic",
                    "store_scatter",
                    "lock",
                    "release",
                    "printf",
                    "buffer",
                ),
            )
        },
    }
)

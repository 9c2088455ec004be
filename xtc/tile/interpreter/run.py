# SPDX-License-Identifier: Apache-2.0
"""The interpreter: runs blocks in order, all threads of a block together, on NumPy arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from xtc.core.errors import UserError, XtcError
from xtc.ir.analysis.replicas import all_replicas_count
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
from xtc.tile.instructions.groups import WARP
from xtc.tile.interpreter.actors import Actors, Clock, Group, meet
from xtc.tile.interpreter.asynchronous import multiplied_makers
from xtc.tile.interpreter.beside import Beside
from xtc.tile.interpreter.cluster_parts import Cluster, Clusters, positions_of
from xtc.tile.interpreter.coroutines import Task, Tasks
from xtc.tile.interpreter.deadlocks import Residency, deadlock, resident
from xtc.tile.interpreter.elements import Array
from xtc.tile.interpreter.events import PLAIN, Event, Events
from xtc.tile.interpreter.exchange import Exchange
from xtc.tile.interpreter.kernel_facts import blocks_wait, cuts, grains, orders_blocks, spins
from xtc.tile.interpreter.knowledge import Knowledge
from xtc.tile.interpreter.mbarriers import MBarrier
from xtc.tile.interpreter.memory import Buffer, GlobalChecker, GlobalMemory
from xtc.tile.interpreter.report import RaceError, Report, race
from xtc.tile.interpreter.semaphores import Semaphore
from xtc.tile.interpreter.shared import Checker, SharedMemory
from xtc.tile.interpreter.values import compute, is_computed
from xtc.tile.interpreter.views import Views
from xtc.tile.interpreter.whole_tiles import WholeTiles
from xtc.tile.values.errors import KernelError
from xtc.tile.values.promises import broken

_UNKNOWN = ShapedType.get_dynamic_size()
_MOST_STEPS = 1 << 24  # operations of a block


def interpret(
    kernel: Operation,
    arguments: Sequence[Any],
    grid: Sequence[int],
    residency: Residency | None = None,
) -> Report:
    """Run a kernel in the dialect `tile` on arrays and numbers.

    Blocks that wait for each other run concurrently, as many as `residency` says; without it, all
    of them fit. Raises RaceError for the first race, and UserError for unsuitable arrays.
    """
    whole = _Launch(kernel, arguments, residency)
    clusters = positions_of(cluster_of(kernel), grid)
    if whole.blocks_wait:
        whole.run_together(clusters, grid)
    else:
        for positions in clusters:
            if whole.has_groups or len(positions) > 1:
                whole.run_together([positions], grid)
            else:
                whole.run_block(positions[0], grid, whole.cluster())
    whole.require_clean()
    return whole.report()


class _Launch:
    """A grid of blocks."""

    def __init__(
        self, kernel: Operation, arguments: Sequence[Any], residency: Residency | None
    ) -> None:
        self.kernel, self.residency = kernel, residency
        self.ops = all_operations(kernel)
        self.numbers = {op: number for number, op in enumerate(self.ops)}
        self.block_of = kernel.regions[0].blocks[0]
        self.events = Events(is_ordered=any(map(orders_blocks, self.ops)))
        sizes = grains(self.block_of.arguments, self.ops)
        pairs = zip(self.block_of.arguments, arguments, sizes, strict=True)
        self.arguments = {a: _argument(value, grain, self.events) for a, value, grain in pairs}
        self.counts: Counter[str] = Counter()
        self.copied = self.blocks = self.clocks = 0
        self.global_checker = GlobalChecker(self.fail, self.events)
        self.tasks = Tasks()
        self.has_groups = any(op.name == "tile.in_group" for op in self.ops)
        self.spins = set(filter(spins, self.ops))
        self.blocks_wait = blocks_wait(self.ops)
        self.multiplied = multiplied_makers(self.ops)
        self.threads = number_of(kernel, WARPS) * WARP
        loads = (op for op in self.ops if op.name == "tile.load_global")
        self.replicated = {op for op in loads if all_replicas_count(op, self.threads)}
        self.cuts = cuts(self.threads, self.ops)
        self.semaphores: dict[tuple[int, int], Semaphore] = {}
        self.released: dict[tuple[int, int], Knowledge] = {}
        self.current = kernel
        self.group = Group((0, self.threads), (), ())

    def report(self) -> Report:
        counts = {name: count for name, count in self.counts.items() if name.startswith("tile.")}
        short = {name.removeprefix("tile."): count for name, count in counts.items()}
        return Report(self.blocks, short, self.copied)

    def fail(
        self, kind: str, what: str, other: Event | int | None, where: str, hint: str
    ) -> RaceError:
        first = by = ""
        if isinstance(other, Event):
            by = _who(other.threads, other.position)
        if other is not None:
            op = other.op if isinstance(other, Event) else other
            first = location_text(self.ops[op].location)
        here = location_text(self.current.location)
        who = _who(self.group.threads, self.group.position)
        return race(kind, what, here, who, first, by, where, hint)

    def cluster(self) -> Cluster:
        """Create a cluster."""
        self.clocks += 1
        return Cluster(cluster_of(self.kernel), Clock(self.clocks))

    def run_block(self, position: tuple[int, ...], grid: Sequence[int], cluster: Cluster) -> None:
        block = _Block(self, position, grid, cluster)
        self.blocks += 1
        block.activate()
        block.run()

    def run_together(
        self, clusters: Sequence[Sequence[tuple[int, ...]]], grid: Sequence[int]
    ) -> None:
        """Run blocks that wait for each other, as many concurrently as the machine holds."""
        self.tasks = Tasks()
        ends_at = self.blocks + sum(map(len, clusters))
        for positions in clusters:
            cluster = self.cluster()
            for position in positions:
                self.tasks.add(partial(self.run_block, position, grid, cluster))
        self.tasks.run(
            lambda tasks: deadlock(tasks, ends_at - self.blocks, self.residency),
            resident(self.residency),
        )

    def require_clean(self) -> None:
        """Raise UserError if memory that must be 0 when the kernel ends is not 0."""
        for op in self.ops:
            if op.name != "tile.buffer" or not BoolAttr(op.attributes["clean"]).value:
                continue
            left = self.arguments[op.operands[0]].raw
            if left.any():
                raise KernelError(
                    "a global_tensor with requires_clean=True is not 0 when the kernel ends",
                    where=location_text(op.location),
                    notes=[
                        f"byte {int(np.argmax(left != 0))} of {left.size} is the first non-zero one"
                    ],
                    hints=["reset it, as release_semaphore(..., value=0) of the last block does"],
                )


def _who(threads: tuple[int, int], position: tuple[int, ...]) -> str:
    """Threads of a block, as text for messages."""
    begin, size = threads
    some = f"thread {begin}" if size == 1 else f"threads {begin} to {begin + size - 1}"
    return f"{some} of block {position}"


def _argument(value: Any, grain: int, events: Events) -> Any:
    if isinstance(value, np.ndarray):
        return Buffer.over(value, grain, events)
    if value is None or isinstance(value, np.generic):  # None: a tensor map, which only copies need
        return value
    raise UserError(
        f"the interpreter takes NumPy arrays, not {value!r}",
        hints=["copy it to the host: numpy.asarray(x)"],
    )


class _Block(Exchange, Clusters, WholeTiles, Views):
    """A block, or the part of it that a group of threads runs."""

    def __init__(
        self,
        launch: _Launch,
        position: tuple[int, ...],
        grid: Sequence[int],
        cluster: Cluster,
    ) -> None:
        self.cluster, self.rank = cluster, cluster.rank(position)
        cluster.blocks[self.rank] = self
        self.allocated: dict[Operation, Any] = {}
        self.made_at: dict[Operation, Event] = {}
        self.others: list[Event] = []
        self.ended = False
        self.launch, self.position, self.grid = launch, position, grid
        self.values: dict[Value, Any] = dict(launch.arguments)
        self.actors = Actors(launch.cuts, position, cluster.clock)
        for actor in self.actors.block.actors:
            actor.beside = Beside()
        self.group = self.actors.block
        self.checker = Checker(self.actors, launch.fail, self.event)
        self.barriers: list[MBarrier] = []
        self.parts: list[tuple[tuple[int, int], Task]] = []
        self.steps = 0
        self.freed: list[tuple[Event, str]] = []
        self.alive: dict[Operation, SharedMemory] = {}

    def run(self) -> None:
        self.sequence(self.launch.block_of)
        self.join((0, self.launch.threads))
        self.require_ended()
        self.leave_cluster()

    def activate(self) -> None:
        """Make these threads the active ones."""
        self.actors.current = self.launch.group = self.group

    def wait_until(
        self, ready: Callable[[], bool], waits_for: Callable[[], str], op: Operation
    ) -> None:
        """Yield to other coroutines until a condition holds."""
        where = location_text(op.location)
        self.launch.tasks.wait(ready, lambda: f"{self._whose}: {waits_for()}", where)
        self.activate()
        self.launch.current = op

    def look_again(self, op: Operation) -> None:
        """Yield once, because the condition of a polling operation does not hold."""
        if op in self.launch.spins:
            what = "polls memory that no other thread changes"
            where = location_text(op.location)
            self.launch.tasks.look_again(lambda: f"{self._whose}: {what}", where)
            self.activate()
            self.launch.current = op

    @property
    def _whose(self) -> str:
        """The active threads, as text for the message of a deadlock."""
        begin, size = self.group.threads
        some = "" if size == self.launch.threads else f"threads {begin} to {begin + size - 1} of "
        return f"{some}block {self.position}"

    def join(self, threads: tuple[int, int]) -> None:
        """Wait until no group with some of these threads runs concurrently with this code."""
        for part in [part for part in self.parts if meet(part[0], threads)]:
            begin, size = part[0]
            what = f"waits for its threads {begin} to {begin + size - 1}"
            self.wait_until(
                lambda part=part: part[1].ended,  # type: ignore[misc]
                what.__str__,
                self.launch.current,
            )
            self.parts.remove(part)

    def enter(self, threads: tuple[int, int], block: Any) -> None:
        """Run a thread group, concurrently with others if the whole block reaches it."""
        self.join(threads)
        part = copy(self)
        part.group = self.actors.group(threads)
        if self.group is not self.actors.block:
            part.activate()
            part.sequence(block)
            self.activate()
            return
        part.values, part.parts, part.steps = dict(self.values), [], 0

        def run() -> None:
            part.activate()
            part.sequence(block)

        self.parts.append((threads, self.launch.tasks.add(run, is_part=True)))

    def sequence(self, block: Any) -> list[Any]:
        """Run a block of operations, and return the operands of its terminator."""
        for op in _operations(block):
            self.launch.current = op
            self.steps += 1
            if self.steps > _MOST_STEPS:
                raise UserError(
                    "a block has run 16 million operations and has not ended",
                    where=location_text(op.location),
                    hints=[
                        "a loop may not end: look at its condition; or check with smaller sizes"
                    ],
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
        """The index of an operation in the kernel."""
        found: int = self.launch.numbers[op]
        return found

    # --- control flow --------------------------------------------------------------------------

    def for_loop(self, op: Operation) -> None:
        lower, upper, step = (self.values[value] for value in list(op.operands)[:3])
        carried = [self.values[value] for value in list(op.operands)[3:]]
        body = op.regions[0].blocks[0]
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

    def _held(self, op: Operation, tile: Value, memory: GlobalMemory, first: int) -> Any:
        """A key of the distribution of elements over threads; None if elements are replicated."""
        offsets = [int(self.values[v]) for v in list(op.operands)[first:]]
        layout = str(layout_of(tile))
        return memory.held(self.group, layout, offsets, dims_of(op))

    def load_global(self, op: Operation) -> None:
        memory: GlobalMemory = self.get(op, 0)
        touched = self.touched(op, memory, RankedTensorType(op.results[0].type).shape)
        own = op not in self.launch.replicated
        held = self._held(op, op.results[0], memory, 1) if own else None
        event = self.event(self.number(op), PLAIN, held=held)
        self.launch.global_checker.read(touched, event, self.group)
        self.set(op, touched.contents)

    def store_global(self, op: Operation) -> None:
        memory: GlobalMemory = self.get(op, 1)
        value = self.get(op, 0)
        touched = self.touched(op, memory, value.shape)
        held = self._held(op, op.operands[0], memory, 2)
        event = self.event(self.number(op), PLAIN, held=held)
        self.launch.global_checker.write(touched, event, self.group)
        memory.scatter(touched.positions, touched.inside, value)

    def load_shared(self, op: Operation) -> None:
        self.set(op, self.checker.read(self.get(op, 0), self.number(op)))

    def store_shared(self, op: Operation) -> None:
        self.checker.write(self.get(op, 1), self.number(op), self.get(op, 0))

    def sync(self, op: Operation) -> None:
        self.group.sync()

    def block_id(self, op: Operation) -> None:
        self.set(op, np.int32(self.position[number_of(op, "dim")]))

    def grid_dim(self, op: Operation) -> None:
        self.set(op, np.int32(self.grid[number_of(op, "dim")]))

    def nothing(self, op: Operation) -> None:
        """Skip an operation that concerns only the compiler."""

    def inside(self, op: Operation) -> None:
        """Skip an operation that drops the elements outside: tiles are whole here."""
        self.set(op, True)

    def assume(self, op: Operation) -> None:
        if not self.get(op, 0):
            raise broken(op)


_CARRIED = ("scf.for", "scf.while", "tile.wgmma")
"""Operations that pass on, or add to, a tile that a multiplication still writes."""

_BESIDE = (
    *("scf.for", "scf.while", "scf.if", "tile.in_group", "tile.block_id", "tile.grid_dim"),
    *("memref.reinterpret_cast", "memref.subview", "memref.transpose", "memref.cast"),
    *("tile.grid", "tile.assume"),
)
"""Operations that may run concurrently with thread groups."""


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
        "tile.tensor_map": _Block.nothing,
        "tile.convert_layout": _Block.reshape,
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

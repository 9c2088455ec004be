# SPDX-License-Identifier: Apache-2.0
"""Divides a kernel with a loop of copies and a dot among warps and warpgroups."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from xtc.ir.attributes import CLUSTER, WARPS
from xtc.ir.builders import tile
from xtc.ir.builders.numbers import add, as_value, divide, known, minimum, multiply
from xtc.ir.builders.tile import number_of
from xtc.ir.mlir import (
    BlockArgument,
    InsertionPoint,
    IntegerAttr,
    IntegerType,
    MemRefType,
    Operation,
    RankedTensorType,
    Value,
    all_operations,
)
from xtc_targets.nvgpu.description import H100
from xtc_targets.nvgpu.passes._kernels import REGISTERS, RESIDENT, WARP
from xtc_targets.nvgpu.passes._pipelines.block_pairs import BLOCKS, block_pair
from xtc_targets.nvgpu.passes._pipelines.bulk_stores import bulk_store, stored_bytes
from xtc_targets.nvgpu.passes._pipelines.declined import Declined
from xtc_targets.nvgpu.passes._pipelines.depth import MOST_SLOTS
from xtc_targets.nvgpu.passes._pipelines.dot_loops import DotLoop, dot_loop
from xtc_targets.nvgpu.passes._pipelines.memory_accesses import (
    memory_of,
    memory_read,
    orders_blocks,
    shares_memory,
    uses_again,
    writers,
    written,
)
from xtc_targets.nvgpu.passes._pipelines.register_plan import RegisterPlan, register_plan
from xtc_targets.nvgpu.passes._pipelines.warp_roles import Roles, Shape, clone, copied_by
from xtc_targets.nvgpu.passes._tiles.classes import is_tile
from xtc_targets.nvgpu.passes._tiles.numbers import Numbers
from xtc_targets.nvgpu.passes._tiles.shared_memory import bytes_of
from xtc_targets.nvgpu.passes._tiles.wgmma import WARPGROUP, columns_at_once
from xtc_targets.nvgpu.passes.map_tensors import root_of
from xtc_targets.nvgpu.passes.place_tile_buffers import ALIGNMENT

_MOST_WARPGROUPS = 4
_BARRIER_BYTES = 4096  # an upper bound for barriers and the alignment of buffers
_ALONE = (
    *("tile.in_group", "tile.mbarrier_", "tile.tma_", "tile.wgmma", "tile.fence_proxy"),
    *("tile.lock", "tile.release", "tile.buffer", "tile.annotate_layout", "tile.printf"),
)
"""Operations that prevent the division: it would change their order, or the threads that run
them."""
_UNIFORM = (
    *("arith.", "memref.reinterpret_cast", "builtin.unrealized_conversion_cast", "tile.assume"),
)
_PLAIN = (
    *("arith.", "math.", "scf.", "memref.", "tensor.splat", "tile.sync", "tile.inside"),
    *("tile.store_global", "tile.load_global", "tile.store_shared", "tile.load_shared"),
)
"""Operations that need no shared memory except for that of allocations."""
_RELAID = ("tile.broadcast", "tile.reshape")
"""Operations whose operand may be converted to another layout."""
_VIEWS = ("memref.subview", "memref.transpose", "memref.cast")
_USERS = ("tile.copy_async", "tile.load_shared", "memref.dealloc")
_OF_COPIES = (*("tile.copy_async", "tile.commit_group", "tile.wait_group", "tile.wait_all"),)


@dataclass(frozen=True)
class Budget:
    """The resources of a GPU.

    Attributes:
        sms: multiprocessors.
        shared_bytes: shared memory per multiprocessor.
        block_bytes: maximum shared memory per block.
    """

    sms: int = H100.sms
    shared_bytes: int = H100.shared_bytes_sm
    block_bytes: int = H100.shared_bytes_block


class BulkKernel:
    """A kernel with a single loop of copies and a dot, and the code around the loop."""

    def __init__(
        self, kernel: Operation, loops: Sequence[Operation], apart: Collection[Operation] = ()
    ) -> None:
        """Analyze a kernel, except for the operations `apart`, which stay.

        Raises Declined if the kernel cannot be divided.
        """
        self.kernel, self.loop = kernel, loops[0]
        self.warps = number_of(kernel, WARPS)
        self.asked = _hoisted(kernel)
        ops = [view.operation for view in kernel.regions[0].blocks[0].operations]
        self.ops = [op for op in ops if op not in apart]
        if len(loops) > 1 or self.loop not in self.ops:
            raise Declined("the loop is nested in another one, or there are several", loops[-1])
        if CLUSTER in kernel.attributes:
            raise Declined("the kernel has clusters", loops[-1])
        for op in all_operations(kernel):
            if op.name.startswith(_ALONE):
                raise Declined(f"the kernel has {op.name.partition('.')[2]}", op)
            if orders_blocks(op):
                raise Declined("blocks of the kernel wait for each other", op)
        at = self.ops.index(self.loop)
        self.matched = dot_loop(self.loop, self.ops[:at], Numbers(kernel))
        self.roots = [self.matched.a.stream.root, self.matched.b.stream.root]
        views = self._views()
        other = [op for op in self.ops[:-1] if op not in views and op.name not in _OF_COPIES]
        self.has_shared = any(op.name == "memref.alloc" for op in other)
        self.uniform = _uniform(other)
        rest = [op for op in other if op not in self.uniform and op not in self.asked.values()]
        has_order = self.has_shared or uses_again(self.ops)
        rest = [op for op in rest if has_order or op.name != "tile.sync"]
        (self.grid,) = (op for op in rest if op.name == "tile.grid")
        at = rest.index(self.loop)
        self.before = [op for op in rest[:at] if op is not self.grid]
        self.after = rest[at + 1 :]
        self.needs_order = shares_memory(self.before, self.after)
        self._require_known()
        self._require_readable()
        self.store = bulk_store(self.after, self._known(), Numbers(kernel))
        if self.store is not None and writers(self.ops, self.store.operands[1]) != [self.store]:
            self.store = None

    def _known(self) -> set[Value]:
        return {result for op in self.uniform for result in op.results}

    @property
    def other_bytes(self) -> int:
        """Upper bound of the shared memory of the code around the loop, in bytes."""
        around = [inner for op in (*self.before, *self.after) for inner in all_operations(op)]
        allocated = [op for op in around if op.name == "memref.alloc"]
        nbytes = sum(-(-_bytes_of(op) // ALIGNMENT) * ALIGNMENT for op in allocated)
        return nbytes + self._converted_bytes(around)

    def _converted_bytes(self, around: Sequence[Operation]) -> int:
        """Upper bound of the shared memory of layout conversions, in bytes: which of them need it
        is unknown before layouts are inferred."""
        m, n, _ = self.matched.sizes
        if not all(op.name.startswith((*_PLAIN, *_RELAID)) for op in around):
            return 4 * m * n
        converted = [op.operands[0] for op in around if op.name in _RELAID]
        return max((_tile_bytes(value) for value in converted), default=0)

    def _views(self) -> list[Operation]:
        """The slots' allocations and views, which only the copies and the loop may use."""
        found, left = list(self.roots), list(self.roots)
        while left:
            for use in left.pop().results[0].uses:
                user = use.owner.operation
                if user.name in _VIEWS and user not in found:
                    found.append(user)
                    left.append(user)
                elif user.name not in (*_USERS, *_VIEWS):
                    raise Declined("a slot has other users than copies and the loop", user)
        for op in all_operations(self.kernel):
            if op.name == "tile.copy_async" and root_of(op.operands[1]) not in self.roots:
                raise Declined("the kernel has another asynchronous copy", op)
        return [
            *found,
            *(
                op
                for op in self.ops
                if op.name == "memref.dealloc" and op.operands[0].owner.operation in self.roots
            ),
        ]

    def _require_known(self) -> None:
        """Decline unless a launch can compute the tensor maps and the grid from arguments."""
        known_here = self._known()
        for operand in (self.matched.a, self.matched.b):
            if operand.stream.source not in known_here:
                raise Declined("the tensor depends on the block", operand.stream.copy)
        for value in self.grid.operands:
            if value not in known_here and not isinstance(value, BlockArgument):
                raise Declined("the grid depends on more than arguments", self.grid)
        i32 = IntegerType.get_signless(32)
        wrong = [v for v in self.matched.forms.values.values() if v.type != i32]
        if wrong or self.loop.operands[0].type != i32:
            raise Declined("an integer of the loop is not an int32", self.loop)

    def _require_readable(self) -> None:
        """Decline where the copying warp would read memory that other threads write."""
        changed = written(self.ops)
        for operand in (self.matched.a, self.matched.b):
            if memory_of(operand.stream.source) in changed:
                raise Declined("the kernel writes a tensor that is copied", operand.stream.copy)
        for outer in copied_by(self.matched, self.before):
            for op in all_operations(outer):
                if op.name == "tile.load_shared" or memory_read(op) in changed:
                    raise Declined("the offset of a copy is read from memory that is written", op)

    def write(self, shape: Shape) -> None:
        """Replace the kernel's code by the code of both roles."""
        end = self.kernel.regions[0].blocks[0].operations[len(self.ops) - 1]
        with self.kernel.location, InsertionPoint(end):
            mapped: dict[Value, Value] = {}
            for op in self.uniform:
                clone(op, mapped)
            grid = [known(mapped.get(size, size)) for size in self.grid.operands]
            with self.grid.location:
                total = multiply(multiply(grid[0], grid[1]), grid[2])
                if shape.pair is not None:
                    total = multiply(divide(add(total, BLOCKS - 1), BLOCKS), BLOCKS)
                    tile.set_cluster([BLOCKS, 1, 1])
                sizes = (minimum(total, shape.resident), 1, 1)
                i32 = IntegerType.get_signless(32)
                tile.grid([as_value(size, type=i32) for size in sizes])
            asked = {kind: op.results[0] for kind, op in self.asked.items()}
            roles = Roles(self.matched, shape, mapped, grid, asked, self.before, self.after)
            with self.loop.location:
                roles.write(self.has_shared, self.needs_order)
        for op in reversed(self.ops[:-1]):
            op.erase()
        i64, i32 = IntegerType.get_signless(64), IntegerType.get_signless(32)
        self.kernel.attributes[WARPS] = IntegerAttr.get(i64, shape.threads // WARP)
        if shape.registers.first:
            self.kernel.attributes[REGISTERS] = IntegerAttr.get(i32, shape.registers.first)
        else:
            self.kernel.attributes[RESIDENT] = IntegerAttr.get(i32, shape.at_once)


def _hoisted(kernel: Operation) -> dict[tuple[str, int], Operation]:
    """Hoist reads of the block's position and of the grid to the kernel's entry, and merge them."""
    found: dict[tuple[str, int], Operation] = {}
    first = kernel.regions[0].blocks[0].operations[0]
    for op in all_operations(kernel):
        if op.name not in ("tile.block_id", "tile.grid_dim"):
            continue
        kind = (op.name, number_of(op, "dim"))
        if kind not in found:
            found[kind] = op.clone(ip=InsertionPoint(first)).operation
        op.results[0].replace_all_uses_with(found[kind].results[0])
        op.erase()
    return found


def _uniform(ops: Sequence[Operation]) -> list[Operation]:
    """The operations that depend on arguments only: integers, and views of global memory."""
    found: list[Operation] = []
    known_values: set[Value] = set()
    for op in ops:
        operands = [value for value in op.operands if not isinstance(value, BlockArgument)]
        is_scalar = not any(is_tile(result) for result in op.results)
        if op.name.startswith(_UNIFORM) and is_scalar and known_values.issuperset(operands):
            found.append(op)
            known_values.update(op.results)
    return found


def _bytes_of(op: Operation) -> int:
    type = MemRefType(op.results[0].type)
    strides, _ = type.get_strides_and_offset()
    return int(type.shape[0] * strides[0]) * bytes_of(type.element_type)


def _tile_bytes(value: Value) -> int:
    type = RankedTensorType(value.type)
    return int(math.prod(type.shape)) * bytes_of(type.element_type)


def shape_of(found: BulkKernel, budget: Budget, *, in_bulk: bool = False) -> Shape:
    """Choose the division of a kernel; with `in_bulk`, its result must be stored in bulk.

    Raises Declined if shared memory has room for too few slots.
    """
    m, n, k = found.matched.sizes
    groups, plans = _warpgroups(m, n, found.warps, found.matched)
    merged, store = found.matched.merged, found.store
    slot = (m + n) * k * merged * found.matched.a.nbytes
    grid = [known(size) for size in found.grid.operands]
    few = all(isinstance(size, int) for size in grid) and math.prod(grid) <= budget.sms
    # Blocks per multiprocessor that keep its tensor cores busy; a single one gets more slots.
    at_once = 2 if groups == 1 and not few else 1
    ways = [(at_once, store, 3), (at_once, None, 3), (1, None, 2)]
    if in_bulk:
        ways = [(at_once, store, 3), (at_once, store, 2)]
    if in_bulk and store is None:
        raise Declined("the result cannot be stored in bulk", found.loop)
    reserved = budget.shared_bytes - budget.block_bytes
    for blocks, stored, least in ways:
        if blocks not in plans:
            continue
        room = budget.shared_bytes // blocks - reserved - found.other_bytes - _BARRIER_BYTES
        room -= stored_bytes(stored) if stored else 0
        slots = min(MOST_SLOTS, room // slot)
        if slots >= least:
            resident, pair = blocks * budget.sms, None
            # Else ptxas spills registers of an epilogue in shared memory.
            if stored is not None or not found.has_shared:
                pair = block_pair(found.matched, grid, found.asked, budget.sms, surely=groups == 1)
            if pair is not None:
                resident = resident // BLOCKS * BLOCKS
            consumers, plan = groups * WARPGROUP, plans[blocks]
            return Shape(consumers, slots, merged, resident, stored, plan, pair, blocks)
    raise Declined(f"two slots of {slot} bytes do not fit in shared memory", found.loop)


def _warpgroups(
    m: int, n: int, warps: int, matched: DotLoop
) -> tuple[int, dict[int, RegisterPlan]]:
    """The number of warpgroups that share the rows, the kernel's number if possible; and the
    register plan of their accumulators, by the number of blocks per multiprocessor."""

    def sums(groups: int) -> tuple[int, int]:
        return m * n // groups // WARPGROUP, columns_at_once(n, codes=matched.codes) // 2

    possible: dict[int, dict[int, RegisterPlan]] = {}
    for groups in range(1, min(_MOST_WARPGROUPS, m // 64) + 1):
        plans = {
            blocks: plan
            for blocks in (1, 2)
            if m % (64 * groups) == 0
            if (plan := register_plan(*sums(groups), groups, blocks)) is not None
        }
        if plans:
            possible[groups] = plans
    if not possible:
        raise Declined(f"accumulators of {m}x{n} do not fit in the registers", matched.dot)
    chosen = min(possible, key=lambda groups: (abs(groups - warps / 4), -groups))
    return chosen, possible[chosen]

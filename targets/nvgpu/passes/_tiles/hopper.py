# SPDX-License-Identifier: Apache-2.0
"""Generates a thread's code for mbarriers, bulk copies and warpgroup multiplications."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from xtc.ir.builders import control
from xtc.ir.builders.numbers import compare, remainder_unsigned
from xtc.ir.builders.tile import BY_WARPS, IN_CLUSTER, NO_WRITES, cluster_of, number_of
from xtc.ir.mlir import Attribute, BoolAttr, MemRefType, Operation, StringAttr, UnitAttr, Value
from xtc.ir.mlir_nvvm import nvvm
from xtc_targets.nvgpu.passes._kernels import WARP
from xtc_targets.nvgpu.passes._thread_code import address_of
from xtc_targets.nvgpu.passes._tiles import cluster_barriers as clusters
from xtc_targets.nvgpu.passes._tiles import mbarriers as mbarriers
from xtc_targets.nvgpu.passes._tiles import tma as tma
from xtc_targets.nvgpu.passes._tiles.classes import is_tile
from xtc_targets.nvgpu.passes._tiles.groups import threads_of
from xtc_targets.nvgpu.passes._tiles.shared_memory import SharedView
from xtc_targets.nvgpu.passes._tiles.wgmma import multiply_add
from xtc_targets.nvgpu.passes._tiles.wgmma_registers import pinned
from xtc_targets.nvgpu.passes.map_tensors import MAP, MULTICAST, root_of
from xtc_targets.nvgpu.passes.place_tile_buffers import MIXED

_GLOBAL = 1  # memory space


def _sums_after(fence: Operation) -> list[Value]:
    """The accumulators of the multiplications after a fence."""
    around = [view.operation for view in fence.block.operations]
    found = []
    for op in around[around.index(fence) + 1 :]:
        if op.name in ("tile.wgmma_fence", "tile.wgmma_commit"):
            break
        if op.name == "tile.wgmma":
            found.append(op.operands[2])
    return list(dict.fromkeys(found))


class HopperLowerings(ABC):
    """The part of a kernel's lowering for sm_90a instructions."""

    kernel: Operation
    threads: int
    thread: Value
    values: dict[Value, Any]
    unpinned: dict[Value, Any]

    @abstractmethod
    def value(self, old: Value) -> Any:
        """The lowered value."""

    @abstractmethod
    def shared_base(self) -> Value:
        """The address of the block's shared memory."""

    @abstractmethod
    def view_of(self, tensor: Value) -> SharedView:
        """The view of a shared tensor."""

    def mbarrier_alloc(self, op: Operation) -> None:
        shared = self.shared_base()
        self.values[op.results[0]] = mbarriers.made(op, shared, self.thread, self.threads)

    def tensor_map(self, op: Operation) -> None:
        tma.acquire(address_of(op.operands[0], _GLOBAL))

    def _map_of(self, op: Operation) -> Value:
        argument = self.kernel.regions[0].blocks[0].arguments[number_of(op, MAP)]
        is_memory = isinstance(argument.type, MemRefType)
        return address_of(argument, _GLOBAL) if is_memory else argument

    def _before_load(self, op: Operation) -> None:
        if MIXED in root_of(op.operands[1]).attributes:
            mbarriers.fence_before_load(multicast=op.name == MULTICAST)

    def tma_load(self, op: Operation) -> None:
        self._before_load(op)
        barrier = mbarriers.address(*(self.value(operand) for operand in list(op.operands)[2:4]))
        offsets = [self.value(operand) for operand in list(op.operands)[4:]]
        tma.load(op, self.view_of(op.operands[1]), self._map_of(op), barrier, offsets)

    def tma_multicast(self, op: Operation) -> None:
        self._before_load(op)
        first, index, mask, *offsets = (self.value(operand) for operand in list(op.operands)[2:])
        barrier = mbarriers.address(first, index)
        tma.load(op, self.view_of(op.operands[1]), self._map_of(op), barrier, offsets, mask)

    def cluster_sync(self, op: Operation) -> None:
        clusters.sync(no_writes=NO_WRITES in op.attributes)

    def cluster_arrive(self, op: Operation) -> None:
        first, index, *others = (self.value(operand) for operand in op.operands)
        barrier, sizes = mbarriers.address(first, index), cluster_of(self.kernel)
        with control.branch(self._arrives(op)):
            clusters.arrive(barrier, others, sizes, no_writes=NO_WRITES in op.attributes)

    def _arrives(self, op: Operation) -> Value | bool:
        """Whether this thread arrives at a barrier, for all of its warp if not for itself."""
        if BY_WARPS not in op.attributes:
            return True
        return compare("eq", remainder_unsigned(self.thread, WARP), 0)

    def tma_store(self, op: Operation) -> None:
        offsets = [self.value(operand) for operand in list(op.operands)[2:]]
        tma.store(op, self.view_of(op.operands[0]), self._map_of(op), offsets)

    def tma_commit(self, op: Operation) -> None:
        nvvm.cp_async_bulk_commit_group()

    def tma_wait(self, op: Operation) -> None:
        read = UnitAttr.get() if BoolAttr(op.attributes["read"]).value else None
        nvvm.cp_async_bulk_wait_group(number_of(op, "n"), read=read)

    def wgmma(self, op: Operation) -> None:
        given, b = op.operands[0], self.view_of(op.operands[1])
        a = self.value(given) if is_tile(given) else self.view_of(given)
        threads, sums = threads_of(op, self.threads), self.value(op.operands[2])
        self.values[op.results[0]] = multiply_add(op, a, b, sums, self.thread, threads)

    def wgmma_fence(self, op: Operation) -> None:
        for sums in _sums_after(op):
            if sums in self.values:
                before = self.values[sums]
                self.unpinned.setdefault(sums, before)
                self.values[sums] = pinned(before)
        nvvm.wgmma_fence_aligned()

    @contextmanager
    def in_block(self) -> Iterator[None]:
        """Lower a block, whose fences pin accumulators for this block alone."""
        outer, self.unpinned = self.unpinned, {}
        yield
        self.values.update(self.unpinned)
        self.unpinned = outer

    def wgmma_commit(self, op: Operation) -> None:
        nvvm.wgmma_commit_group_sync_aligned()

    def wgmma_wait(self, op: Operation) -> None:
        nvvm.wgmma_wait_group_sync_aligned(number_of(op, "n"))

    def set_registers(self, op: Operation) -> None:
        action = "increase" if BoolAttr(op.attributes["increase"]).value else "decrease"
        kind = Attribute.parse(f"#nvvm<action {action}>")
        nvvm.setmaxregister(number_of(op, "count"), kind)

    def _on_barrier(
        self, op: Operation, function: Callable[[Value, Sequence[Value]], None]
    ) -> None:
        first, *others = (self.value(operand) for operand in op.operands)
        function(first, others)

    def mbarrier_arrive(self, op: Operation) -> None:
        with control.branch(self._arrives(op)):
            self._on_barrier(op, mbarriers.arrive)

    def mbarrier_expect(self, op: Operation) -> None:
        self._on_barrier(op, mbarriers.expect)

    def mbarrier_wait(self, op: Operation) -> None:
        in_cluster = IN_CLUSTER in op.attributes
        self._on_barrier(op, mbarriers.wait_in_cluster if in_cluster else mbarriers.wait)

    def fence_proxy(self, op: Operation) -> None:
        mbarriers.fence_proxy(StringAttr(op.attributes["space"]).value)

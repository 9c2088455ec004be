# SPDX-License-Identifier: Apache-2.0
"""Lowers operations on mbarriers for a thread."""

from __future__ import annotations

from collections.abc import Sequence

from xtc.ir.builders import control
from xtc.ir.builders.llvm import advanced
from xtc.ir.builders.numbers import compare, multiply
from xtc.ir.builders.tile import dims_of, number_of
from xtc.ir.mlir import (
    Attribute,
    Block,
    InsertionPoint,
    IntegerType,
    Operation,
    UnitAttr,
    Value,
    arith,
    scf,
)
from xtc.ir.mlir_nvvm import nvvm
from xtc_targets.nvgpu.passes._thread_code import as_i32
from xtc_targets.nvgpu.passes._tiles.groups import barrier

BEFORE_LOAD = "nvgpu.before_load"
"""Unit attribute on a proxy fence that makes no writes visible that a kernel must make visible.
Written by lower-tiles, read by call-simulator, which erases such fences."""

BARRIER_BYTES = 8
_TICKS = 10_000_000
"""Nanoseconds for which hardware may suspend a waiting thread before it polls again."""


def made(op: Operation, shared: Value, thread: Value, threads: int) -> Value:
    """The address of new barriers, which the first thread initializes before all continue."""
    first = advanced(shared, number_of(op, "nvgpu.offset"))
    with control.branch(compare("eq", thread, 0)):
        for number, count in enumerate(dims_of(op, "counts")):
            nvvm.mbarrier_init(advanced(first, BARRIER_BYTES * number), as_i32(count or threads))
        nvvm.fence_mbarrier_init()
    barrier(op)
    return first


def address(first: Value, index: Value) -> Value:
    """The address of a barrier."""
    distance = multiply(index, BARRIER_BYTES)
    assert isinstance(distance, Value)  # noqa: S101
    return advanced(first, distance)


def arrive(first: Value, operands: Sequence[Value]) -> None:
    """Arrive at a barrier."""
    index, count = operands
    nvvm.mbarrier_arrive(IntegerType.get_signless(64), address(first, index), count=count)


def expect(first: Value, operands: Sequence[Value]) -> None:
    """Arrive at a barrier, and announce bytes."""
    index, nbytes = operands
    nvvm.mbarrier_arrive_expect_tx(None, address(first, index), nbytes)


def wait(first: Value, operands: Sequence[Value]) -> None:
    """Wait for the phase with a parity."""
    index, phase = operands
    nvvm.mbarrier_try_wait_parity(address(first, index), phase, as_i32(_TICKS))


def wait_in_cluster(first: Value, operands: Sequence[Value]) -> None:
    """Wait, and acquire what the cluster's other blocks released: ptxas then invalidates the L1
    cache, which may hold global memory from before their writes."""
    index, phase = operands
    barrier, i1 = address(first, index), IntegerType.get_signless(1)
    scope = Attribute.parse("#nvvm.mem_scope<cluster>")
    loop = scf.WhileOp([], [])
    before, after = (Block.create_at_start(region, []) for region in loop.regions)
    with InsertionPoint(before):
        done = nvvm.mbarrier_try_wait(i1, barrier, phase, ticks=as_i32(_TICKS), scope=scope)
        scf.condition(arith.xori(done, arith.constant(i1, 1)), [])
    with InsertionPoint(after):
        scf.yield_([])


def fence_proxy(space: str) -> None:
    """Order this thread's writes before later asynchronous accesses."""
    kind = Attribute.parse(f"#nvvm.proxy_kind<async.{space}>")
    if space == "shared":
        nvvm.fence_proxy(kind, space=Attribute.parse("#nvvm.shared_space<cta>"))
    else:
        nvvm.fence_proxy(kind)


def fence_before_load(*, multicast: bool) -> None:
    """Order what threads have read and written, as far as this thread has waited for them, before
    its bulk loads to the same memory: TMA is another proxy ("PTX ISA", async proxy)."""
    kind = Attribute.parse("#nvvm.proxy_kind<async.shared>")
    space = Attribute.parse(f"#nvvm.shared_space<{'cluster' if multicast else 'cta'}>")
    made = nvvm.fence_proxy(kind, space=space)
    made.attributes[BEFORE_LOAD] = UnitAttr.get()

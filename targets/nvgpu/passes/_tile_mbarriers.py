# SPDX-License-Identifier: Apache-2.0
"""Lowers operations on mbarriers for a thread."""

from __future__ import annotations

from collections.abc import Sequence

from xtc.ir.builders import control
from xtc.ir.builders.llvm import advanced
from xtc.ir.builders.numbers import compare, multiply
from xtc.ir.builders.tile import dims_of, number_of
from xtc.ir.mlir import Attribute, IntegerType, Operation, Value
from xtc.ir.mlir_nvvm import nvvm
from xtc_targets.nvgpu.passes._thread_code import as_i32
from xtc_targets.nvgpu.passes._tile_groups import barrier

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


def fence_proxy(space: str) -> None:
    """Order this thread's writes before later asynchronous accesses."""
    kind = Attribute.parse(f"#nvvm.proxy_kind<async.{space}>")
    if space == "shared":
        nvvm.fence_proxy(kind, space=Attribute.parse("#nvvm.shared_space<cta>"))
    else:
        nvvm.fence_proxy(kind)

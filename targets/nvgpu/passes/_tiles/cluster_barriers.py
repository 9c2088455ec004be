# SPDX-License-Identifier: Apache-2.0
"""Lowers the synchronization of a cluster's blocks for a thread."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xtc.ir.analysis.linalg_ops import is_zero
from xtc.ir.builders import control
from xtc.ir.builders.numbers import compare
from xtc.ir.mlir import Attribute, Type, Value, arith
from xtc.ir.mlir_nvvm import nvvm
from xtc_targets.nvgpu.passes._thread_code import as_i32

_REMOTE = "!llvm.ptr<7>"


def sync(*, no_writes: bool) -> None:
    """Wait for all threads of the cluster; unless there are none, their writes become visible."""
    if no_writes:
        nvvm.cluster_arrive_relaxed()
    else:
        nvvm.cluster_arrive()
    nvvm.cluster_wait()


def arrive(
    barrier: Value, operands: Sequence[Value], sizes: Sequence[int], *, no_writes: bool
) -> None:
    """Arrive at the barrier of each block of the mask, and announce bytes there.

    Without writes, it does not release them to the cluster: for that, ptxas lets the thread wait
    until the whole GPU sees them (MEMBAR.ALL.GPU).
    """
    mask, count, nbytes = operands
    scope = Attribute.parse(f"#nvvm.mem_scope<{'cta' if no_writes else 'cluster'}>")
    for rank in range(prod(sizes)):
        bit = arith.andi(mask, as_i32(1 << rank))
        with control.branch(compare("ne", bit, 0)):
            there = nvvm.mapa(Type.parse(_REMOTE), barrier, as_i32(rank))
            if is_zero(nbytes):
                nvvm.mbarrier_arrive(None, there, count=count, scope=scope)
            else:
                nvvm.mbarrier_arrive_expect_tx(None, there, nbytes, scope=scope)

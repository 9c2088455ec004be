# SPDX-License-Identifier: Apache-2.0
"""Thread groups: their barriers, and their threads."""

from __future__ import annotations

from xtc.core.errors import UserError
from xtc.ir.builders.tile import group_entered, group_of, location_text
from xtc.ir.mlir import Operation, all_operations
from xtc.ir.mlir_nvvm import nvvm
from xtc_targets.nvgpu.passes._kernels import WARP
from xtc_targets.nvgpu.passes._thread_code import as_i32

_BARRIERS = 16
"""Barriers per block; the first is for all threads ("PTX ISA", bar)."""


def barrier(op: Operation) -> None:
    """A barrier of all threads that run an operation."""
    group = group_of(op)
    if group is None:
        nvvm.barrier(None)
    elif group[1] > WARP:
        number = as_i32(_number(op, group))
        nvvm.barrier(None, barrier_id=number, number_of_threads=as_i32(group[1]))
    elif group[1] == WARP:
        nvvm.bar_warp_sync(as_i32(-1))


def threads_of(op: Operation, block: int) -> int:
    """The number of threads that run an operation, in a block of `block` threads."""
    group = group_of(op)
    return block if group is None else group[1]


def _number(op: Operation, group: tuple[int, int]) -> int:
    """The barrier of a group: each group of several warps has one, in the kernel's order."""
    kernel = op
    while kernel.name != "func.func":
        kernel = kernel.parent.operation
    entered = [found for inner in all_operations(kernel) if (found := group_entered(inner))]
    several = list(dict.fromkeys(found for found in entered if found[1] > WARP))
    number = several.index(group) + 1
    if number >= _BARRIERS:
        raise UserError(
            f"the kernel has more than {_BARRIERS - 1} groups of several warps",
            where=location_text(op.location),
            hints=["let fewer groups synchronize by self.sync(), and others by mbarriers"],
        )
    return number

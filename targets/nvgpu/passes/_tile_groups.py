# SPDX-License-Identifier: Apache-2.0
"""Threads of a group: their barrier, and where they begin."""

from __future__ import annotations

from xtc.core.errors import UserError
from xtc.ir.builders.tile import group_entered, group_of, location_text
from xtc.ir.mlir import Operation, all_operations
from xtc.ir.mlir_nvvm import nvvm
from xtc_targets.nvgpu.passes._kernels import WARP
from xtc_targets.nvgpu.passes._thread_code import as_i32

_BARRIERS = 16
"""Of a block, of which all threads use the first ("PTX ISA", bar)."""


def barrier(op: Operation) -> None:
    """All threads that run an operation wait for each other."""
    group = group_of(op)
    if group is None:
        nvvm.barrier(None)
    elif group[1] > WARP:
        number = as_i32(_number(op, group))
        nvvm.barrier(None, barrier_id=number, number_of_threads=as_i32(group[1]))
    elif group[1] == WARP:
        nvvm.bar_warp_sync(as_i32(-1))


def threads_of(op: Operation, block: int) -> int:
    """How many threads run an operation, in a block of so many."""
    group = group_of(op)
    return block if group is None else group[1]


def _number(op: Operation, group: tuple[int, int]) -> int:
    """The barrier of a group: groups of several warps have one each, in the kernel's order."""
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
        )
    return number

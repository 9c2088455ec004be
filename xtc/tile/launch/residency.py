# SPDX-License-Identifier: Apache-2.0
"""The blocks of a launch that a machine holds at the same time.

Only a kernel whose blocks wait for each other depends on it: a block that waits for one that has
not begun waits forever if no other one ends.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from xtc.core.errors import ToolError
from xtc.ir.attributes import RESIDENT_BLOCKS
from xtc.ir.builders.tile import cluster_of
from xtc.tile.interpreter.deadlocks import Residency

if TYPE_CHECKING:
    from xtc.tile.launch.compiled import Kernel


def residency_of(kernel: Kernel) -> Residency:
    """The residency of a kernel. Its registers count if the machine's assembler is found."""
    support = kernel.support
    threads, nbytes = kernel.warps * support.warp_threads, kernel.shared_bytes
    try:
        registers = kernel.resources.registers
        needs = f"{registers} registers of each thread"
    except ToolError:
        registers, needs = 0, "registers, which no assembler counts here"
    each = max(1, support.resident_blocks(registers, threads, nbytes))
    size = math.prod(cluster_of(kernel.function))
    blocks = max(1, each * support.multiprocessors // size) * size
    return Residency(
        blocks,
        f"{support.multiprocessors} multiprocessors hold {each} each, by {threads} threads, "
        f"{nbytes} bytes of shared memory, and {needs}",
    )


def is_limited(kernel: Kernel, grid: Sequence[int]) -> bool:
    """Whether a launch depends on the blocks that the machine holds at the same time."""
    return kernel.blocks_wait and math.prod(grid) > kernel.support.multiprocessors


def needs_residency(kernel: Kernel, grid: Sequence[int]) -> bool:
    """Whether a simulator needs code that names the blocks that the machine holds."""
    named = RESIDENT_BLOCKS in kernel.function.attributes
    return kernel.support.is_simulated and not named and is_limited(kernel, grid)

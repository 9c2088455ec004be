# SPDX-License-Identifier: Apache-2.0
"""The registers of warpgroups that multiply, and of threads that copy and need few."""

from __future__ import annotations

from dataclasses import dataclass

from xtc_targets.nvgpu.description import H100
from xtc_targets.nvgpu.passes._kernels import WARP
from xtc_targets.nvgpu.passes._tiles.wgmma import WARPGROUP

_LEAST, _STEP = 24, 8
"""The minimum and the granularity of setmaxnreg ("PTX ISA", setmaxnreg)."""
_ENOUGH = 40
"""Registers that a copying thread keeps if the accumulators fit nevertheless: with 32, ptxas spills
the addresses of some copies."""
_MOST = 240
"""Registers, of 255 that a thread can use: ptxas reserves some."""
_OTHERS = 40
"""Registers of a thread without its accumulators: ptxas allocates 155 for 128 of them, 166 with
a bias."""
_OF_INSTRUCTION = 26
"""Registers that ptxas needs besides the accumulators of a wgmma before setmaxnreg (its C7602)."""
_PARTS = 4  # partitions of a multiprocessor, which share its warps and registers


@dataclass(frozen=True)
class RegisterPlan:
    """Registers per thread.

    Attributes:
        copiers: threads that copy: a warp, or a warpgroup that releases registers to the others.
        first: initial registers of each thread; 0 if the code generator chooses.
        least, most: registers that copiers keep, and that the other threads then have.
    """

    copiers: int = WARP
    first: int = 0
    least: int = 0
    most: int = 0


def register_plan(sums: int, of_instruction: int, groups: int, blocks: int) -> RegisterPlan | None:
    """A plan with room for `sums` accumulators per thread; None if they do not fit.

    Args:
        of_instruction: accumulators of one instruction, which must fit into the initial registers.
        groups: warpgroups of a block that multiply. Several of them receive the registers that
            the copying threads release; one needs these only if it has many accumulators.
        blocks: resident blocks per multiprocessor.
    """
    even = _each(blocks * (groups * WARPGROUP + WARP))
    is_enough = sums + _OTHERS <= even
    first = _each(blocks * (groups + 1) * WARPGROUP)
    for least in (_ENOUGH, _LEAST):
        most = min(_MOST, _floor((first * (groups + 1) - least) // groups))
        fits = sums + _OTHERS <= most and of_instruction + _OF_INSTRUCTION <= first
        if fits and most > even and (groups > 1 or not is_enough):
            return RegisterPlan(WARPGROUP, first, least, most)
    return RegisterPlan() if is_enough else None


def _each(threads: int) -> int:
    """Registers per thread, if a multiprocessor with four partitions runs `threads` threads."""
    warps = -(-threads // WARP // _PARTS)
    return min(H100.registers_thread, _floor(H100.registers_sm // _PARTS // WARP // warps))


def _floor(count: int) -> int:
    return count // _STEP * _STEP

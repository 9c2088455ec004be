# SPDX-License-Identifier: Apache-2.0
"""The registers of warpgroups that multiply, beside threads that copy and need few."""

from __future__ import annotations

from dataclasses import dataclass

from xtc_targets.nvgpu.description import H100
from xtc_targets.nvgpu.passes._kernels import WARP
from xtc_targets.nvgpu.passes._tile_wgmma import WARPGROUP

_LEAST, _STEP = 24, 8
"""What setmaxnreg allows ("PTX ISA", setmaxnreg)."""
_MOST = 240
"""Of 255 that a thread can use: ptxas takes some for itself."""
_OTHERS = 40
"""What a thread holds beside its sums: ptxas takes 155 for 128 of them, and 166 with a bias."""
_OF_INSTRUCTION = 26
"""What ptxas wants beside the sums of one wgmma before registers are handed on (its C7602)."""
_PARTS = 4  # of a multiprocessor, to which warps and registers belong


@dataclass(frozen=True)
class RegisterPlan:
    """Registers of a thread.

    Attributes:
        copiers: threads that copy: a warp, or a warpgroup that gives up registers for others.
        first: with which each thread begins; 0: as many as there are for it.
        least, most: that copiers keep, and that the others have then.
    """

    copiers: int = WARP
    first: int = 0
    least: int = 0
    most: int = 0


def register_plan(sums: int, of_instruction: int, groups: int, blocks: int) -> RegisterPlan | None:
    """How threads have room for their sums, and for those of one instruction; None: they have not.

    A block has `groups` warpgroups that multiply, and a multiprocessor `blocks` blocks. Several
    warpgroups get what those that copy do not need; one has enough where its sums are few.
    """
    even = _each(blocks * (groups * WARPGROUP + WARP))
    is_enough = sums + _OTHERS <= even
    first = _each(blocks * (groups + 1) * WARPGROUP)
    most = min(_MOST, _floor((first * (groups + 1) - _LEAST) // groups))
    fits = sums + _OTHERS <= most and of_instruction + _OF_INSTRUCTION <= first
    if fits and most > even and (groups > 1 or not is_enough):
        return RegisterPlan(WARPGROUP, first, _LEAST, most)
    return RegisterPlan() if is_enough else None


def _each(threads: int) -> int:
    """The registers of each of a multiprocessor's threads, whose warps its parts share."""
    warps = -(-threads // WARP // _PARTS)
    return min(H100.registers_thread, _floor(H100.registers_sm // _PARTS // WARP // warps))


def _floor(count: int) -> int:
    return count // _STEP * _STEP

# SPDX-License-Identifier: Apache-2.0
"""The stages of a device's code, each with the passes that lead there from the one before."""

from __future__ import annotations

from xtc.core.pipeline import Pipeline, Stage
from xtc_passes._steps import NO_BF16, TO_BRANCHES, TO_LLVM
from xtc_passes.apply_schedules import ApplySchedules
from xtc_passes.contract_multiply_adds import ContractMultiplyAdds
from xtc_passes.copy_by_loops import CopyByLoops
from xtc_passes.drop_memory_spaces import DropMemorySpaces
from xtc_passes.take_words import TakeWords
from xtc_passes.unroll_loops import UnrollLoops

# What users schedule; a real machine distributes the rest over its cores here.
SCHEDULED = Stage("scheduled", (ApplySchedules(), "canonicalize", "cse"))

BUFFERIZED = Stage(
    "bufferized",
    (
        # One core runs every loop.
        "scf-forall-to-for",
        # What a schedule wants unrolled; before, each copy of a body would be bufferized.
        UnrollLoops(),
        "canonicalize",
        "cse",
    ),
)

# Nothing between main memory and the core: no on-chip buffers to place.
OFFLOADED = Stage("offloaded", ("buffer-deallocation-pipeline",))

LOWERED = Stage(
    "lowered",
    (
        # The device's memory is this process's.
        DropMemorySpaces(),
        CopyByLoops(),
        "convert-linalg-to-loops",
        ContractMultiplyAdds(),
        *NO_BF16,
        *TO_BRANCHES,
        *TO_LLVM,
        # Kernels get their arguments as words, whatever their number.
        TakeWords(),
    ),
)


def null_pipeline() -> Pipeline:
    """All stages, in order."""
    return Pipeline((Stage("source"), SCHEDULED, BUFFERIZED, OFFLOADED, LOWERED))

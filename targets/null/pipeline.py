# SPDX-License-Identifier: Apache-2.0
"""The stages of a device's code, each with the passes that lead there from the one before."""

from __future__ import annotations

from xtc.ir.pipeline import Pipeline, Stage
from xtc_passes.lower._sequences import NO_BF16, TO_BRANCHES, TO_LLVM
from xtc_passes.lower.contract_multiply_adds import ContractMultiplyAdds
from xtc_passes.lower.copy_by_loops import CopyByLoops
from xtc_passes.lower.drop_memory_spaces import DropMemorySpaces
from xtc_passes.tensor.apply_schedules import ApplySchedules
from xtc_passes.tensor.unroll_loops import UnrollLoops
from xtc_targets.null.passes.pack_arguments import PackArguments

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
        PackArguments(),
    ),
)


def null_pipeline() -> Pipeline:
    """All stages, in order."""
    return Pipeline((Stage("source"), SCHEDULED, BUFFERIZED, OFFLOADED, LOWERED))

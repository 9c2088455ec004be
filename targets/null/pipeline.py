# SPDX-License-Identifier: Apache-2.0
"""The stages of a device's code, each with the passes that lead there from the one before."""

from __future__ import annotations

from xtc.ir.pipeline import Pipeline, Stage
from xtc_passes.local.bound_local_buffers import BoundLocalBuffers
from xtc_passes.local.double_buffer import DoubleBuffer
from xtc_passes.local.place_local_buffers import PlaceLocalBuffers
from xtc_passes.local.start_transfers import StartTransfers
from xtc_passes.lower._sequences import NO_BF16, TO_BRANCHES, TO_LLVM
from xtc_passes.lower.contract_multiply_adds import ContractMultiplyAdds
from xtc_passes.lower.copy_by_loops import CopyByLoops
from xtc_passes.lower.drop_memory_spaces import DropMemorySpaces
from xtc_passes.tensor.apply_schedules import ApplySchedules
from xtc_passes.tensor.unroll_loops import UnrollLoops
from xtc_targets.null.description import NULL
from xtc_targets.null.passes.copy_by_bursts import CopyByBursts
from xtc_targets.null.passes.pack_arguments import PackArguments
from xtc_targets.null.passes.take_shards import TakeShards

_LOCAL = 2  # the memory space of local memory

# What users schedule, with packed tiles in local memory; a real machine distributes the rest over
# its cores here.
SCHEDULED = Stage("scheduled", (ApplySchedules(space=_LOCAL), "canonicalize", "cse"))

BUFFERIZED = Stage(
    "bufferized",
    (
        # Each memory's processor computes on what is there.
        TakeShards(),
        # One core runs every loop.
        "scf-forall-to-for",
        # What a schedule wants unrolled; before, each copy of a body would be bufferized.
        UnrollLoops(),
        "canonicalize",
        "cse",
        # After it every local buffer has a static size, which the next stage needs.
        BoundLocalBuffers(space=_LOCAL),
    ),
)

OFFLOADED = Stage(
    "offloaded",
    (
        # While copies are still one operation each.
        DoubleBuffer(NULL.local_bytes, space=_LOCAL),
        StartTransfers(space=_LOCAL),
        "canonicalize",
        "cse",
        # The tag of a transfer shows how long it uses its buffer, so this precedes the commands.
        PlaceLocalBuffers(NULL.local_bytes, space=_LOCAL),
        CopyByBursts(NULL.burst_bytes),
        # Buffers in main memory.
        "buffer-deallocation-pipeline",
    ),
)

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

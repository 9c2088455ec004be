# SPDX-License-Identifier: Apache-2.0
"""The stages of device code, each with the passes that lower the previous stage to it."""

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

# Applies the user's schedules, with packed tiles in local memory. A real machine also distributes
# unscheduled operations over its cores here.
SCHEDULED = Stage("scheduled", (ApplySchedules(space=_LOCAL), "canonicalize", "cse"))

BUFFERIZED = Stage(
    "bufferized",
    (
        # Each processor computes on the shards in its own memory.
        TakeShards(),
        # The single core runs every loop.
        "scf-forall-to-for",
        # Loops that a schedule unrolls; unrolled earlier, each copy of a body would be bufferized.
        UnrollLoops(),
        "canonicalize",
        "cse",
        # Gives every local buffer a static size, which the next stage needs.
        BoundLocalBuffers(space=_LOCAL),
    ),
)

OFFLOADED = Stage(
    "offloaded",
    (
        # While a copy is still one operation.
        DoubleBuffer(NULL.local_bytes, space=_LOCAL),
        StartTransfers(space=_LOCAL),
        "canonicalize",
        "cse",
        # Before transfers are lowered: a transfer's tag shows how long it uses its buffer.
        PlaceLocalBuffers(NULL.local_bytes, space=_LOCAL),
        CopyByBursts(NULL.burst_bytes),
        # For buffers in main memory.
        "buffer-deallocation-pipeline",
    ),
)

LOWERED = Stage(
    "lowered",
    (
        # All of the device's memories are memory of this process.
        DropMemorySpaces(),
        CopyByLoops(),
        "convert-linalg-to-loops",
        ContractMultiplyAdds(),
        *NO_BF16,
        *TO_BRANCHES,
        *TO_LLVM,
        # Every kernel gets its arguments as one array of 64-bit words.
        PackArguments(),
    ),
)


def null_pipeline() -> Pipeline:
    """All stages, in order."""
    return Pipeline((Stage("source"), SCHEDULED, BUFFERIZED, OFFLOADED, LOWERED))

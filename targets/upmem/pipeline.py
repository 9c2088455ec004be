# SPDX-License-Identifier: Apache-2.0
"""The stages of device code, from linalg on tensors to loops for C on DPUs."""

from __future__ import annotations

from xtc.ir.pipeline import Pipeline, Stage
from xtc_passes.local.place_local_buffers import PlaceLocalBuffers
from xtc_passes.lower._sequences import TO_ARRAYS
from xtc_passes.lower.drop_memory_spaces import DropMemorySpaces
from xtc_passes.lower.hoist_accumulators import HoistAccumulators
from xtc_passes.tensor.fuse_elementwise import FuseElementwise
from xtc_passes.tensor.linalg_to_named_loops import LinalgToNamedLoops
from xtc_targets.upmem.options import UpmemOptions
from xtc_targets.upmem.passes import _device_calls as device
from xtc_targets.upmem.passes.copy_by_dma import CopyByDma
from xtc_targets.upmem.passes.join_fills import JoinFills
from xtc_targets.upmem.passes.join_rows import JoinRows
from xtc_targets.upmem.passes.split_long_reductions import SplitLongReductions
from xtc_targets.upmem.passes.take_schedules import TakeSchedules
from xtc_targets.upmem.passes.tile_for_tasklets import TileForTasklets


def scheduled(options: UpmemOptions) -> Stage:
    """Operations on tensors that are divided among all DPUs and tasklets."""
    return Stage(
        "scheduled",
        (
            "canonicalize",
            # A chain of elementwise operations passes through WRAM once.
            FuseElementwise(),
            # After fusion, which may merge the producer of a reduction's operand into it.
            SplitLongReductions(options.nr_dpus * options.tasklets),
            "canonicalize",
            "cse",
            # The passes above leave operations with a user's schedule unchanged.
            TakeSchedules(options.nr_dpus, options.tasklets),
            # Last: it marks operations, and the marks must refer to final operations.
            JoinFills(),
            # After `join-fills`: each operation is marked with its fill.
            JoinRows(options.nr_dpus),
        ),
    )


BUFFERIZED = Stage("bufferized", ("canonicalize", "cse"))


def offloaded(options: UpmemOptions) -> Stage:
    """The work of each DPU and tasklet, and every transfer between MRAM and WRAM."""
    return Stage(
        "offloaded",
        (
            TileForTasklets(options.nr_dpus, options.tasklets, options.local_bytes),
            "canonicalize",
            "cse",
            # While a copy still refers to its buffers.
            CopyByDma(),
            "canonicalize",
            "cse",
        ),
    )


def lowered(options: UpmemOptions) -> Stage:
    """Loops over arrays, to be printed as C."""
    return Stage(
        "lowered",
        (
            LinalgToNamedLoops(),
            "fold-memref-alias-ops",
            "canonicalize",
            "cse",
            "loop-invariant-code-motion",
            # While tiles are separate buffers; as views of one memory they might overlap.
            HoistAccumulators(),
            PlaceLocalBuffers(
                options.local_bytes, alignment=8, symbol=device.LOCAL, space=device.SPACE
            ),
            DropMemorySpaces(),
            *TO_ARRAYS,
        ),
    )


def upmem_pipeline(options: UpmemOptions) -> Pipeline:
    """All stages, in order."""
    return Pipeline(
        (Stage("source"), scheduled(options), BUFFERIZED, offloaded(options), lowered(options))
    )

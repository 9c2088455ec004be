# SPDX-License-Identifier: Apache-2.0
"""The stages of device code, from linalg on tensors to what becomes C for DPUs."""

from __future__ import annotations

from xtc.ir.pipeline import Pipeline, Stage
from xtc_passes.local.place_local_buffers import PlaceLocalBuffers
from xtc_passes.lower._sequences import TO_ARRAYS
from xtc_passes.lower.drop_memory_spaces import DropMemorySpaces
from xtc_passes.tensor.fuse_elementwise import FuseElementwise
from xtc_passes.tensor.linalg_to_named_loops import LinalgToNamedLoops
from xtc_targets.upmem.options import UpmemOptions
from xtc_targets.upmem.passes import _device_calls as device
from xtc_targets.upmem.passes.copy_by_dma import CopyByDma
from xtc_targets.upmem.passes.tile_for_tasklets import TileForTasklets

# A chain of elementwise operations goes through WRAM once.
SCHEDULED = Stage("scheduled", ("canonicalize", FuseElementwise(), "canonicalize", "cse"))

BUFFERIZED = Stage("bufferized", ("canonicalize", "cse"))


def offloaded(options: UpmemOptions) -> Stage:
    """Which DPU and which tasklet computes what, and every transfer between MRAM and WRAM."""
    return Stage(
        "offloaded",
        (
            TileForTasklets(options.nr_dpus, options.tasklets, options.local_bytes),
            "canonicalize",
            "cse",
            # While a copy still names its buffers.
            CopyByDma(),
            # What a transfer uses is known from its address only, so places come last.
            PlaceLocalBuffers(
                options.local_bytes, alignment=8, symbol=device.LOCAL, space=device.SPACE
            ),
            "canonicalize",
            "cse",
        ),
    )


LOWERED = Stage(
    "lowered",
    (
        DropMemorySpaces(),
        LinalgToNamedLoops(),
        *TO_ARRAYS,
    ),
)


def upmem_pipeline(options: UpmemOptions) -> Pipeline:
    """All stages, in order."""
    return Pipeline((Stage("source"), SCHEDULED, BUFFERIZED, offloaded(options), LOWERED))

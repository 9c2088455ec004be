# SPDX-License-Identifier: Apache-2.0
"""The stages, each with the passes that lead there from the one before."""

from __future__ import annotations

from xtc.core.pipeline import Pipeline, Stage
from xtc_passes.apply_schedules import ApplySchedules
from xtc_passes.insert_transfers import InsertTransfers
from xtc_passes.outline_device_regions import OutlineDeviceRegions
from xtc_passes.unroll_loops import UnrollLoops

SCHEDULED = Stage(
    "scheduled",
    (
        # First of all, so that nothing fuses or moves across the border of a device.
        OutlineDeviceRegions(),
        ApplySchedules(),
    ),
)

BUFFERIZED = Stage(
    "bufferized",
    (
        # Results are computed where the caller wants them, not in one more buffer and a copy.
        "eliminate-empty-tensors",
        "empty-tensor-to-alloc-tensor",
        "one-shot-bufferize{bufferize-function-boundaries "
        "function-boundary-type-conversion=identity-layout-map}",
        # A device function writes its results where the caller says.
        "buffer-results-to-out-params{hoist-static-allocs=true}",
        "canonicalize",
        "cse",
        # What a schedule wants unrolled; before, each copy of a body would be bufferized.
        UnrollLoops(),
    ),
)

OFFLOADED = Stage(
    "offloaded",
    (
        # Device buffers and copies become explicit on the host side. Arguments marked
        # `memref.on_device` need neither.
        InsertTransfers(),
        "canonicalize",
        "cse",
        # Frees go in last, when it is settled which buffers exist.
        "buffer-deallocation-pipeline",
    ),
)

LOWERED = Stage("lowered", ("convert-linalg-to-loops",))


def null_pipeline() -> Pipeline:
    """All stages, in order."""
    return Pipeline((Stage("source"), SCHEDULED, BUFFERIZED, OFFLOADED, LOWERED))

# SPDX-License-Identifier: Apache-2.0
"""The stages, each with the passes that lead there from the one before."""

from __future__ import annotations

from xtc.core.pipeline import Pipeline, Stage
from xtc_passes.apply_schedules import ApplySchedules
from xtc_passes.unroll_loops import UnrollLoops

SCHEDULED = Stage("scheduled", (ApplySchedules(),))

BUFFERIZED = Stage(
    "bufferized",
    (
        # Results are computed where the caller wants them, not in one more buffer and a copy.
        "eliminate-empty-tensors",
        "empty-tensor-to-alloc-tensor",
        "one-shot-bufferize{bufferize-function-boundaries "
        "function-boundary-type-conversion=identity-layout-map}",
        "canonicalize",
        "cse",
        # What a schedule wants unrolled; before, each copy of a body would be bufferized.
        UnrollLoops(),
    ),
)

# A real target outlines what runs on its device into device functions here, and makes allocations,
# copies and launches explicit on the host side. Arguments marked `memref.on_device` need neither.
OFFLOADED = Stage("offloaded")

LOWERED = Stage("lowered", ("convert-linalg-to-loops",))


def null_pipeline() -> Pipeline:
    """All stages, in order."""
    return Pipeline((Stage("source"), SCHEDULED, BUFFERIZED, OFFLOADED, LOWERED))

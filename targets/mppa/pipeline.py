# SPDX-License-Identifier: Apache-2.0
"""The device's stages: what clusters and PEs run, from linalg on tensors on."""

from __future__ import annotations

from xtc.core.pipeline import Step
from xtc_passes.fuse_elementwise import FuseElementwise
from xtc_targets.mppa.description import COOLIDGE_V2, CoolidgeDescription
from xtc_targets.mppa.passes.distribute_by_default import DistributeByDefault
from xtc_targets.mppa.passes.distribute_schedules import DistributeSchedules


def scheduled_steps(
    machine: CoolidgeDescription = COOLIDGE_V2,
    clusters: int | None = None,
    pes: int | None = None,
) -> tuple[Step, ...]:
    """From operations on tensors to loops over clusters and PEs, buffers in SMEM included.

    `clusters` and `pes` are those that run a kernel, where that is not all of the machine's.
    """
    clusters = machine.clusters if clusters is None else clusters
    pes = machine.pes if pes is None else pes
    return (
        # The user's schedules first: what follows decides for operations that have none.
        DistributeSchedules(clusters, pes),
        # Reshapes that cancel out, as around a sum that keeps its dimension, would part a chain.
        "canonicalize",
        # One member of a nest for a chain of elementwise operations.
        FuseElementwise(),
        DistributeByDefault(machine.arch, clusters, pes, machine.smem_usable_bytes),
        "canonicalize",
        "cse",
    )

# SPDX-License-Identifier: Apache-2.0
"""distribute-schedules: applies user schedules, with loops over clusters and PEs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.core.errors import UserError
from xtc.ir.mlir import Operation
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass
from xtc.loops import Mesh
from xtc_passes.tensor.apply_schedules import Distribution, apply_schedules
from xtc_targets.mppa.passes._smem_tiles import SMEM


@dataclass(frozen=True)
class DistributeSchedules(Pass):
    """Apply schedules as `apply-schedules` does, with loops over meshes and tiles in SMEM.

    Before:
        linalg.matmul {loop.dims = ["i", "j", "k"],
                       loop.schedule = "{i: {distribute: psx}, j: {distribute: psy, pack: 1}}"}
    After:
        scf.forall (%c) in (1) { alloc_tensor copy(%b) {memory_space = 2}
          scf.forall (%i, %j) in (2, 8) { ... } {mapping = [#gpu.thread<..>, ..], xtc.axes = [..]}
        } {mapping = [#gpu.block<linear_dim_0>], xtc.axes = ["px", "py"]}

    Clusters share the loops over the shard axes of the processor mesh, and the PEs of a cluster
    those over its thread axes. Tiles that are packed at or outside the loops over PEs are copied to
    SMEM before the PEs start; inside these loops each PE copies to a private buffer in SMEM. An
    operation without loops over clusters runs on one cluster.

    Attributes:
        clusters: clusters that run a kernel.
        pes: processing elements of each cluster.
    """

    name: ClassVar[str] = "distribute-schedules"
    clusters: int = 5
    pes: int = 16

    def __post_init__(self) -> None:
        require_positive(self)

    def run(self, module: Operation) -> None:
        apply_schedules(module, Distribution(SMEM, self._check))

    def _check(self, mesh: Mesh, title: str) -> None:
        """Refuse a mesh that is larger than the machine."""
        for axes, most, what in (
            (mesh.shard_axes, self.clusters, "clusters"),
            (mesh.thread_axes, self.pes, "PEs of a cluster"),
        ):
            count = mesh.count(axes)
            if count > most:
                raise UserError(
                    f"the schedule of {title} is for {count} {what}, of which there are {most}",
                    notes=[f"axes {', '.join(axes)} of processor mesh '{mesh.name}'"],
                    hints=[f"give these axes sizes whose product is {most} at most"],
                )

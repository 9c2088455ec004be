# SPDX-License-Identifier: Apache-2.0
"""take-schedules: converts user schedules to the tile order of DPUs and tasklets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.core.errors import UserError, about, located
from xtc.ir.analysis import linalg_ops as linalg
from xtc.ir.analysis.structured import structured
from xtc.ir.attributes import LOOP_SCHEDULE, MARK_PREFIX, SCHEDULE_LOCATION, SCHEDULED_PREFIX
from xtc.ir.mlir import Operation
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass
from xtc.loops import Mesh
from xtc_passes.tensor._meshes import erase_meshes
from xtc_passes.tensor._scheduled import location_of
from xtc_passes.tensor.apply_schedules import ApplySchedules, Distribution
from xtc_targets.upmem.passes import _device_calls as device
from xtc_targets.upmem.passes._schedule_reader import ScheduleReader
from xtc_targets.upmem.passes._shards import row_loop
from xtc_targets.upmem.passes._tile_plan import set_schedule

_MARKS = (MARK_PREFIX, SCHEDULED_PREFIX, LOOP_SCHEDULE, SCHEDULE_LOCATION)


@dataclass(frozen=True)
class TakeSchedules(Pass):
    """Convert schedules to the attributes of `tile-for-tasklets`, and refuse unsupported parts.

    Before:
        linalg.matmul {loop.dims = ["i", "j", "k"],
                       loop.schedule = "{i: {distribute: dpu}, i#16: {distribute: tasklet}, ...}"}
    After:
        linalg.generic {upmem.schedule = array<i64: 0, 2, 1, 0, 2, 0>, upmem.shared = 1 : i64}

    Loops over tiles come first, with reductions innermost. The loops after them are those of a
    tile, one per axis; tiles are in WRAM. `parallelize`, or `distribute` over axes that share a
    memory, marks the loops that tasklets share; `distribute` over an axis of memories marks the
    rows that DPUs share. `buffer_at` and `pack_at` are accepted where tiles are in WRAM anyway.

    Attributes:
        dpus: number of DPUs that share a kernel.
        tasklets: number of tasklets of each DPU.
    """

    name: ClassVar[str] = "take-schedules"
    dpus: int = 1
    tasklets: int = 16

    def __post_init__(self) -> None:
        require_positive(self)

    def run(self, module: Operation) -> None:
        distribution = Distribution(device.SPACE, self._check, threads=True)
        for entry in ApplySchedules().nests(module, distribution):
            nest = structured(entry.op)
            if nest is None:  # pragma: no cover - a schedule is of a linalg operation
                continue
            with located(location_of(entry.op)), about(entry.title):
                reader = ScheduleReader(entry, nest, row_loop(nest), self.dpus, self.tasklets)
                set_schedule(entry.op, reader.loops(), reader.shared())
        linalg.remove_attributes(module, *_MARKS)
        erase_meshes(module)

    def _check(self, mesh: Mesh, title: str) -> None:
        """Refuse a mesh that is larger than the machine."""
        for axes, most, what in (
            (mesh.shard_axes, self.dpus, "DPUs"),
            (mesh.thread_axes, self.tasklets, "tasklets of a DPU"),
        ):
            if mesh.count(axes) > most:
                raise UserError(
                    f"the schedule of {title} is for {mesh.count(axes)} {what}, of which there are "
                    f"{most}",
                    notes=[f"axes {', '.join(axes)} of processor mesh '{mesh.name}'"],
                )

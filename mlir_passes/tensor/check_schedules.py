# SPDX-License-Identifier: Apache-2.0
"""check-schedules: refuses schedules that no pass has applied."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.core.errors import UserError
from xtc.ir.analysis.linalg_ops import operations_with
from xtc.ir.attributes import LOOP_SCHEDULE
from xtc.ir.mlir import Operation
from xtc.ir.passes import Pass
from xtc_passes.tensor._scheduled import location_of, title_of


@dataclass(frozen=True)
class CheckSchedules(Pass):
    """Refuse a module in which an operation still has a schedule.

    A target applies and removes schedules in its stage `scheduled`; this pass ends that stage. It
    changes nothing:

        linalg.matmul {loop.dims = ["i", "j", "k"], loop.schedule = "{i: unroll}"} ...

    raises UserError, because the loops of the schedule were not generated.

    Attributes:
        target: name of the target for messages; "" if it is unknown.
    """

    name: ClassVar[str] = "check-schedules"
    target: str = ""

    def run(self, module: Operation) -> None:
        for op in operations_with(module, LOOP_SCHEDULE):
            title = title_of(op)
            target = f"target '{self.target}'" if self.target else f"the target of {title}"
            raise UserError(
                f"the schedule of {title} is not followed: {target} does not support schedules",
                where=location_of(op),
                hints=[f"leave {title} out of the schedule, or run it on another device"],
            )

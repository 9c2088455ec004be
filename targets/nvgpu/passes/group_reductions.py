# SPDX-License-Identifier: Apache-2.0
"""group-reductions: groups a reduction and its initial value in a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.function_view import functions
from xtc.ir.mlir import Operation, UnitAttr
from xtc.ir.passes import Pass
from xtc_targets.nvgpu.passes._marks import REDUCTION, first_free_mark, mark, own_fill
from xtc_targets.nvgpu.passes._thread_reductions import reduction_of


@dataclass(frozen=True)
class GroupReductions(Pass):
    """Mark a reduction and the fill of its destination as a kernel.

    Before:
        %z = linalg.fill 0.0 ; %s = linalg.generic {["parallel", "reduction"]} ins(%x) outs(%z)
    After:
        %z = linalg.fill {xtc.kernel = 0}
        %s = linalg.generic {nvgpu.reduction, xtc.kernel = 0} ins(%x) outs(%z)

    The kernel begins with the value in a register, and does not read its result. Reductions with a
    user's schedule, and those of other kernels, stay as they are.
    """

    name: ClassVar[str] = "group-reductions"

    def run(self, module: Operation) -> None:
        with module.context:
            for view in functions(module):
                found = [
                    (nest.op, start)
                    for nest in view.nests.values()
                    if nest.reductions and reduction_of(nest) is not None
                    if (start := view.producers.get(nest.op.operands[nest.destination])) is not None
                    if start.name == "linalg.fill"
                ]
                for number, (op, fill) in enumerate(found, first_free_mark(view)):
                    mark([own_fill(op, number, fill), op], number)
                    op.attributes[REDUCTION] = UnitAttr.get()
